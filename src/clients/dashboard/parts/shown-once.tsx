import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'
import { CopyValue } from './controls.tsx'
import { Note } from './page.tsx'

interface ShownOnceFrame {
  /** What it is. */
  name: string
  value: string
  /** The word on the button that takes it away. */
  button: string
  onKept(): void
  /** What to do with it. */
  children: ComponentChildren
}

/** A token or a link that the server does not show again. */
export const ShownOnce = ({ name, value, button, onKept, children }: ShownOnceFrame) => (
  <Note tone="ok">
    <div class="token" role="status">
      <p>{children}</p>
      <CopyValue value={value} name={name} />
      <p>
        <Button look="small" text={button} onClick={onKept} />
      </p>
    </div>
  </Note>
)
