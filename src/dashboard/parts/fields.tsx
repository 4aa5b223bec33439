import { useId } from 'preact/hooks'

export type FieldType = 'text' | 'email' | 'password' | 'date' | 'datetime-local' | 'number' | 'url' | 'search'

interface FieldFrame {
  label: string
  hint?: string
  value: string
  onValue(value: string): void
  type?: FieldType
  autocomplete?: string
  required?: boolean
  maxLength?: number
  spellcheck?: boolean
  inputMode?: 'numeric'
  readOnly?: boolean
  /** After the last key, unlike `onValue`. */
  onChange?(): void
}

export function Field({ label, hint, value, onValue, type = 'text', ...input }: FieldFrame) {
  const id = useId()
  return (
    <p class="labelled">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="field"
        type={type as 'text'}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
        {...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` })}
        {...input}
      />
      {hint && (
        <span class="muted" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </p>
  )
}

/** A choice of few; `options` are values with their words. */
export function Choice({
  label,
  value,
  options,
  onValue,
}: {
  label: string
  value: string
  options: [string, string][]
  onValue(value: string): void
}) {
  const id = useId()
  return (
    <p class="labelled">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map(([option, word]) => (
          <option key={option} value={option}>
            {word}
          </option>
        ))}
      </select>
    </p>
  )
}

export const Switch = ({
  label,
  on,
  onChange,
  disabled = false,
}: {
  label: string
  on: boolean
  onChange(on: boolean): void
  disabled?: boolean
}) => (
  <label class="switch">
    <input type="checkbox" checked={on} disabled={disabled} onChange={(event) => onChange(event.currentTarget.checked)} />
    {label}
  </label>
)
