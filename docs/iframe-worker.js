// The search runs in a worker, which browsers refuse for pages opened as files. There, its script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.hidden = true;
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(each)));
      this.ready = this.load(url);
    }
    load(url) {
      const script = this.inside.document.createElement("script");
      script.src = url;
      return new Promise((loaded) => {
        script.onload = loaded;
        this.inside.document.body.appendChild(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
