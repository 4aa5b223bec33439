import type { ComponentChildren, ComponentProps, RefObject } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { AskButton, Button } from './button.tsx'
import { Field } from './fields.tsx'
import { SentFields, type FieldsFrame } from './form.tsx'

interface DialogFrame extends Pick<FieldsFrame, 'main' | 'faults' | 'early'> {
  heading: string
  /** The word on the button that does it; a dialog without one only shows something. */
  button?: ComponentChildren
  /** What gives false leaves the dialog open. */
  run?(): Promise<unknown>
  onClose(): void
  /** Has room for source text. */
  wide?: boolean
  /** What has to be typed first, where what is lost cannot come back. */
  typed?: string | undefined
  disabled?: boolean
  children?: ComponentChildren
}

/** A dialog that is open for as long as it is there. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => {
      // The browser tells of it in a later turn, when a key may have opened something else.
      shown?.addEventListener('close', (event) => event.stopImmediatePropagation(), { capture: true })
      shown?.close()
    }
  }, [])
  return dialog
}

/** Asks before something is done, or for what it needs. Closes when it is done. */
export function Dialog({ heading, button, run, onClose, typed, disabled = false, wide = false, children, ...sent }: DialogFrame) {
  const dialog = useModal()
  const id = useId()
  const [typedText, setTyped] = useState('')
  const fields = (
    <>
      <h2 id={id}>{heading}</h2>
      {children}
      {typed !== undefined && <Field name={null} label={t.common.typeToConfirm(typed)} value={typedText} onValue={setTyped} />}
    </>
  )
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <SentFields fields={fields} run={async () => (await run?.()) !== false && onClose()} {...sent}>
        {(busy) => (
          <div class="acts end">
            <Button text={button === undefined ? t.common.close : t.common.cancel} onClick={onClose} />
            {button !== undefined && (
              <Button
                type="submit"
                look="main"
                text={button}
                busy={busy}
                disabled={disabled || (typed !== undefined && typedText !== typed)}
              />
            )}
          </div>
        )}
      </SentFields>
    </dialog>
  )
}

interface ConfirmFrame extends Pick<DialogFrame, 'wide' | 'typed'>, Omit<ComponentProps<typeof AskButton>, 'dialog'> {
  text: string
  /** By default the word on the button. */
  heading?: string
  /** What follows from it: a sentence, or more. */
  says: ComponentChildren
  run(): Promise<unknown>
}

/** A button for what needs nothing but a second thought. */
export const ConfirmButton = ({ text, heading = text, says, run, wide = false, typed, ...button }: ConfirmFrame) => (
  <AskButton
    text={text}
    {...button}
    dialog={(close) => (
      <Dialog heading={heading} button={text} run={run} onClose={close} wide={wide} typed={typed}>
        {typeof says === 'string' ? <p>{says}</p> : says}
      </Dialog>
    )}
  />
)
