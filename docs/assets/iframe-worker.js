/* Search in pages that are read from disk. Browsers start no worker for a file, so the script of the search runs in a
   hidden frame instead: a frame has a document and a global object of its own, and can be sent messages. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...scripts) => Promise.all(scripts.map((script) => load(frame, script)));
      load(frame, address).then(() => {
        this.frame = frame;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (!this.frame) {
        this.waiting.push(data);
        return;
      }
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame?.remove();
    }
  };
}

function load(frame, address) {
  return new Promise((loaded, failed) => {
    const script = frame.contentDocument.createElement("script");
    script.src = new URL(address, location.href);
    script.onload = loaded;
    script.onerror = failed;
    frame.contentDocument.body.appendChild(script);
  });
}
