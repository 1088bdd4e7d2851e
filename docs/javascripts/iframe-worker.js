// Searches in a frame where a page is opened from a folder: a browser starts no worker from a file.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const page = frame.contentDocument;
      page.open();
      const scope = frame.contentWindow;
      // What the script posts comes here, and not to the frame itself.
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      // What is posted before the script listens waits for it.
      this.ready = new Promise((resolve) => frame.addEventListener("load", () => resolve(scope)));
      const script = page.createElement("script");
      script.src = address;
      page.write(script.outerHTML);
      page.close();
    }

    async postMessage(message) {
      const scope = await this.ready;
      // A worker has a copy of its own.
      const data = structuredClone(message);
      scope.dispatchEvent(new scope.MessageEvent("message", { data }));
    }
  };
}
