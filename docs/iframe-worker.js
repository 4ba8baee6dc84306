// Browsers give no workers to pages that were opened as files. There, the search works in a hidden frame instead.
if (window.location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = Object.assign(document.createElement("iframe"), { hidden: true });
      document.body.append(this.frame);
      this.inside = this.frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...addresses) => Promise.all(addresses.map((one) => this.load(one)));
      this.ready = this.load(address);
    }

    load(address) {
      return new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script");
        Object.assign(script, { src: address, onload: loaded, onerror: failed });
        this.inside.document.head.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
