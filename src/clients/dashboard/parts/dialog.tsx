import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { Field } from './fields.tsx'
import { SentFields, type FieldsFrame } from './form.tsx'

interface DialogFrame extends Pick<FieldsFrame, 'main' | 'faults' | 'early'> {
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
export function Dialog({ heading, button, run, onClose, typed, disabled = false, wide = false, children, ...sent }: DialogFrame) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [typedText, setTyped] = useState('')
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  const fields = (
    <>
      <h2 id={id}>{heading}</h2>
      {children}
      {typed !== undefined && (
        <Field name={null} label={t.common.typeToConfirm(typed)} value={typedText} onValue={setTyped} autocomplete="off" />
      )}
    </>
  )
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <SentFields fields={fields} run={async () => (await run?.()) !== false && onClose()} {...sent}>
        {(busy) => (
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
        )}
      </SentFields>
    </dialog>
  )
}
