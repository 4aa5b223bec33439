import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { useFault } from './refused.tsx'

type FieldType = 'text' | 'email' | 'password' | 'date' | 'datetime-local' | 'number' | 'url' | 'search'

interface FieldFrame {
  label: string
  /** As the API names it: what it says is wrong with the field is shown here. Null for what the API does not take. */
  name: string | null
  hint?: string | undefined
  value: string
  onValue(value: string): void
  type?: FieldType
  /** Off if not given. */
  autocomplete?: string
  required?: boolean
  maxLength?: number
  spellcheck?: boolean
  inputMode?: 'numeric'
  readOnly?: boolean
  /** After the last key, unlike `onValue`. */
  onChange?(): void
}

export function Field({ label, name, hint, value, onValue, type = 'text', autocomplete = 'off', ...input }: FieldFrame) {
  return (
    <Labelled label={label} name={name} hint={hint}>
      {(attributes) => (
        <input
          class="field"
          type={type as 'text'}
          value={value}
          autocomplete={autocomplete}
          onInput={(event) => onValue(event.currentTarget.value)}
          {...attributes}
          {...input}
        />
      )}
    </Labelled>
  )
}

/** What is entered into fields, by their names in the API; `field` ties one of them to its value. */
export function useFields<Values extends Record<string, string | boolean>>(initial: Values) {
  const [values, setValues] = useState(initial)
  const field = <Name extends keyof Values & string>(name: Name) => ({
    name,
    value: values[name],
    onValue: (value: Values[Name]) => setValues((before) => ({ ...before, [name]: value })),
  })
  return { values, field, setValues }
}

interface ChoiceFrame {
  label: string
  name: string | null
  value: string
  options: [string, string][]
  onValue(value: string): void
}

/** Objects to choose from, by their names. */
export const optionsOf = (objects: readonly { id: string; name: string }[] = []): [string, string][] =>
  objects.map(({ id, name }) => [id, name])

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
  name: string | null
  hint?: string | undefined
  /** What is labelled, with these attributes. */
  children(attributes: FieldAttributes): ComponentChildren
}

interface FieldAttributes {
  id: string
  'aria-describedby'?: string
  'aria-invalid'?: true
}

/** What an input says of itself, and what is to stand below it: what is wrong with it. `hintId`: of what explains it. */
export function useField(name: string | null, hintId?: string): [attributes: FieldAttributes, fault: ComponentChildren] {
  const id = useId()
  const fault = useFault(name, id)
  const described = [...(fault === null ? [] : [`${id}-fault`]), ...(hintId === undefined ? [] : [hintId])].join(' ')
  return [
    { id, ...(described === '' ? {} : { 'aria-describedby': described }), ...(fault === null ? {} : { 'aria-invalid': true as const }) },
    fault !== null && (
      <span class="fault" id={`${id}-fault`} role="alert">
        {fault}
      </span>
    ),
  ]
}

/** A label, what it is of, and below it what is wrong with it and a hint. */
export function Labelled({ label, name, hint, children }: LabelledFrame) {
  const hintId = useId()
  const [attributes, fault] = useField(name, hint ? hintId : undefined)
  return (
    <p class="labelled">
      <label for={attributes.id}>{label}</label>
      {children(attributes)}
      {fault}
      {hint && (
        <span class="muted" id={hintId}>
          {hint}
        </span>
      )}
    </p>
  )
}

interface SwitchFrame {
  label: string
  name: string | null
  value: boolean
  onValue(isOn: boolean): void
  disabled?: boolean
}

export function Switch({ label, name, value, onValue, disabled = false }: SwitchFrame) {
  const [attributes, fault] = useField(name)
  return (
    <>
      <label class="switch">
        <input
          type="checkbox"
          checked={value}
          disabled={disabled}
          onChange={(event) => onValue(event.currentTarget.checked)}
          {...attributes}
        />
        {label}
      </label>
      {fault}
    </>
  )
}

/** Several switches under one label. */
export function Group({ label, name, children }: { label: string; name: string; children: ComponentChildren }) {
  const labelId = useId()
  const [attributes, fault] = useField(name)
  return (
    <div role="group" aria-labelledby={labelId} tabIndex={-1} id={attributes.id} aria-describedby={attributes['aria-describedby']}>
      <p class="group" id={labelId}>
        {label}
      </p>
      <div class="choices">{children}</div>
      {fault}
    </div>
  )
}
