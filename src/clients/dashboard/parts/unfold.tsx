import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** What is there, and is fetched, only once somebody opens it. */
export function Unfold({ word, open = false, children }: { word: ComponentChildren; open?: boolean; children(): ComponentChildren }) {
  const [isOpen, setOpen] = useState(open)
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" />
        {word}
      </summary>
      {isOpen && children()}
    </details>
  )
}
