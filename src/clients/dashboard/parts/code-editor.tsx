import { useId, useRef } from 'preact/hooks'
import { indent } from '../line-edit.ts'
import { t } from '../texts/texts.ts'
import { useField } from './fields.tsx'

interface CodeField {
  label: string
  /** As the API names it. */
  name: string
  value: string
  onValue(value: string): void
  readOnly?: boolean
}

/** A field for source text, with line numbers. Tab indents; Escape and then Tab leaves it, for those who have only a keyboard. */
export function CodeEditor({ label, name, value, onValue, readOnly = false }: CodeField) {
  const keysId = useId()
  const [attributes, fault] = useField(name, readOnly ? undefined : keysId)
  const numbers = useRef<HTMLPreElement>(null)
  const mayLeave = useRef(false)
  const onKey = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void => {
    if (event.key === 'Escape') {
      mayLeave.current = true
      return
    }
    const leaves = mayLeave.current || readOnly
    if (event.key !== 'Shift') mayLeave.current = false
    if (event.key !== 'Tab' || leaves || event.ctrlKey || event.altKey || event.metaKey) return
    event.preventDefault()
    indentIn(event.currentTarget, event.shiftKey)
  }
  return (
    <div class="code-field">
      <pre ref={numbers} aria-hidden="true">
        {lineNumbers(value)}
      </pre>
      <textarea
        aria-label={label}
        {...attributes}
        value={value}
        readOnly={readOnly}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        wrap="off"
        onInput={(event) => onValue(event.currentTarget.value)}
        onKeyDown={onKey}
        onBlur={() => (mayLeave.current = false)}
        onScroll={(event) => {
          if (numbers.current) numbers.current.scrollTop = event.currentTarget.scrollTop
        }}
      />
      {!readOnly && (
        <p class="muted" id={keysId}>
          {t.template.keys}
        </p>
      )}
      {fault && <p>{fault}</p>}
    </div>
  )
}

function indentIn(field: HTMLTextAreaElement, back: boolean): void {
  const edit = indent(field.value, { from: field.selectionStart, to: field.selectionEnd, back })
  if (!edit) return
  field.setSelectionRange(edit.from, edit.to)
  // The only way to change a field that the browser's undo knows of.
  document.execCommand('insertText', false, edit.text)
  field.setSelectionRange(edit.selectFrom, edit.selectTo)
}

const lineNumbers = (text: string): string => Array.from({ length: text.split('\n').length }, (_, line) => line + 1).join('\n')
