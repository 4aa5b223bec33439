import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { Refusal } from './answer.tsx'
import { useAction } from './controls.tsx'
import { Field } from './fields.tsx'

interface DialogFrame {
  heading: string
  /** The word on the button that does it; a dialog without one only shows something. */
  button?: string
  /** What gives false leaves the dialog open. */
  run?(): Promise<unknown>
  onClose(): void
  /** Has room for source text. */
  wide?: boolean
  /** What has to be typed first, where what is lost cannot come back. */
  typed?: string
  disabled?: boolean
  children?: ComponentChildren
}

/** Asks before something is done, or for what it needs. Closes when it is done. */
export function Dialog({ heading, button, run, onClose, typed, disabled = false, wide = false, children }: DialogFrame) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [typedText, setTyped] = useState('')
  const { busy, error, start } = useAction(async () => {
    if ((await run?.()) !== false) onClose()
  })
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          start()
        }}
      >
        <h2 id={id}>{heading}</h2>
        {children}
        {typed !== undefined && <Field label={t.common.typeToConfirm(typed)} value={typedText} onValue={setTyped} autocomplete="off" />}
        {error && <Refusal error={error} />}
        <div class="acts end">
          <button class="btn" type="button" onClick={onClose}>
            {button === undefined ? t.common.close : t.common.cancel}
          </button>
          {button !== undefined && (
            <button class="btn main" type="submit" aria-busy={busy} disabled={disabled || (typed !== undefined && typedText !== typed)}>
              {button}
            </button>
          )}
        </div>
      </form>
    </dialog>
  )
}
