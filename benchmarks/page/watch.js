// Times from a press to the frame that shows what it did: put into every page that is measured.

(() => {
  const QUIET_FRAMES = 5;
  const PATIENCE_MS = 300_000;

  /** Call `look` when the next frame has been drawn. */
  const after_frame = look =>
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = look;
      port2.postMessage(null);
    });

  /** Resolves after the first frame in which `is_so` holds. */
  const frame_with = is_so =>
    new Promise((resolve, reject) => {
      const until = performance.now() + PATIENCE_MS;
      const look = () => {
        if (is_so()) resolve();
        else if (performance.now() > until) reject(new Error(`nothing was shown: ${is_so}`));
        else after_frame(look);
      };
      after_frame(look);
    });

  window.benchmark = {
    /** Milliseconds from the next event of one of these kinds to the frame in which `is_shown` holds. */
    watch(kinds, is_shown) {
      let pressed_at = 0;
      const press = ({ timeStamp }) => {
        pressed_at ||= timeStamp;
      };
      for (const kind of kinds) document.addEventListener(kind, press, { capture: true, once: true });
      this.watched = frame_with(() => pressed_at && is_shown()).then(() => performance.now() - pressed_at);
    },

    /** Until `picture`, what is on screen as a string, has stayed the same for some frames. */
    quiet(picture) {
      let last = null;
      let frames = 0;
      return frame_with(() => {
        const now = picture();
        frames = now === last ? frames + 1 : 0;
        last = now;
        return frames >= QUIET_FRAMES;
      });
    },

    /** How many different pictures a second follow each other for so many milliseconds; an empty one is none. */
    async pictures_a_second(picture, milliseconds) {
      const began = performance.now();
      let last = picture();
      let count = 0;
      await frame_with(() => {
        const now = picture();
        if (now && now !== last) {
          count += 1;
          last = now;
        }
        return performance.now() - began >= milliseconds;
      });
      return (count * 1000) / (performance.now() - began);
    },
  };
})();
