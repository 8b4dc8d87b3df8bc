import type { ComponentChildren } from 'preact';

/** A failure and what to do, read by a screen reader at once. */
export const Failure = ({ text }: { text: string | undefined }) =>
  text === undefined ? null : (
    <p class="notice failure" role="alert">
      {text}
    </p>
  );

/** A success. */
export const Success = ({ text }: { text: string | undefined }) => (
  <p class={text === undefined ? 'unseen' : 'notice success'} role="status">
    {text}
  </p>
);

/** In place of a list without entries: what would be here, and how it gets here. */
export const Empty = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

export const Loading = ({ what }: { what: string }) => (
  <p class="muted" role="status">
    Loading {what} …
  </p>
);
