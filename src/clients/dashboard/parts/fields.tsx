import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { useFault } from './refused.tsx'

export type FieldType = 'text' | 'email' | 'password' | 'date' | 'datetime-local' | 'number' | 'url' | 'search'

interface FieldFrame {
  label: string
  /** As the API names it; what it says is wrong with the field is shown here. */
  name?: string
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

export function Field({ label, name, hint, value, onValue, type = 'text', ...input }: FieldFrame) {
  return (
    <Labelled label={label} name={name} hint={hint}>
      {(attributes) => (
        <input
          class="field"
          type={type as 'text'}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
          {...attributes}
          {...input}
        />
      )}
    </Labelled>
  )
}

interface ChoiceFrame {
  label: string
  name?: string
  value: string
  options: [string, string][]
  onValue(value: string): void
}

/** A choice of few; `options` are values with their words. */
export const Choice = ({ label, name, value, options, onValue }: ChoiceFrame) => (
  <Labelled label={label} name={name}>
    {(attributes) => (
      <select value={value} onChange={(event) => onValue(event.currentTarget.value)} {...attributes}>
        {options.map(([option, word]) => (
          <option key={option} value={option}>
            {word}
          </option>
        ))}
      </select>
    )}
  </Labelled>
)

interface LabelledFrame {
  label: string
  name?: string | undefined
  hint?: string | undefined
  /** What is labelled, with these attributes. */
  children(attributes: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }): ComponentChildren
}

/** A label, what it is of, and below it what is wrong with it and a hint. */
export function Labelled({ label, name, hint, children }: LabelledFrame) {
  const id = useId()
  const fault = useFault(name)
  const described = [fault === null ? '' : `${id}-fault`, hint ? `${id}-hint` : ''].filter((each) => each !== '').join(' ')
  return (
    <p class="labelled">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described === '' ? {} : { 'aria-describedby': described }),
        ...(fault === null ? {} : { 'aria-invalid': true as const }),
      })}
      {fault !== null && (
        <span class="fault" id={`${id}-fault`} role="alert">
          {fault}
        </span>
      )}
      {hint && (
        <span class="muted" id={`${id}-hint`}>
          {hint}
        </span>
      )}
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
