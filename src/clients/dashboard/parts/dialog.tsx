import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { useAction } from './controls.tsx'
import { Field } from './fields.tsx'
import { useFaultFocus, WithRefusal } from './refused.tsx'

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
  /** The field that is at fault where the API names none. */
  main?: string
  children?: ComponentChildren
}

/** Asks before something is done, or for what it needs. Closes when it is done. */
export function Dialog({ heading, button, run, onClose, typed, disabled = false, wide = false, main, children }: DialogFrame) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [typedText, setTyped] = useState('')
  const { busy, error, start } = useAction(async () => {
    if ((await run?.()) !== false) onClose()
  })
  const form = useFaultFocus<HTMLFormElement>(error)
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <form
        ref={form}
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          start()
        }}
      >
        <h2 id={id}>{heading}</h2>
        <WithRefusal error={error} main={main}>
          {children}
        </WithRefusal>
        {typed !== undefined && <Field label={t.common.typeToConfirm(typed)} value={typedText} onValue={setTyped} autocomplete="off" />}
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
