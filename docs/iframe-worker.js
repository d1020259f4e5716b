/* The search of the site works in a worker, and browsers start no worker of a file. Where the pages are read as files,
   the worker's script runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => {
        const event = new MessageEvent("message", {data})
        this.dispatchEvent(event)
        this.onmessage?.(event)
      }
      const script = this.inside.document.createElement("script")
      this.ready = new Promise(loaded => { script.onload = loaded })
      script.src = url
      this.inside.document.body.append(script)
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data})))
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
