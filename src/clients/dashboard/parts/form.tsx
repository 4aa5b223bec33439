import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/client.ts'
import { Button, useAction } from './button.tsx'
import { WithRefusal } from './refused.tsx'

export interface FieldsFrame {
  /** Sends what was entered. */
  run(): Promise<unknown>
  /** What to say instead of the API's own words, by the names of its errors. */
  faults?: Record<string, string> | undefined
  /** The field that is at fault where the API names none. */
  main?: string | undefined
  /** What is wrong before it is sent. */
  early?: ApiError | null | undefined
  fields: ComponentChildren
  class?: string
  /** What stands below the fields, with the button that sends them. */
  children(busy: boolean): ComponentChildren
}

/** Fields that are sent together. What was refused stands at its field, or below them. */
export function SentFields({ run, faults, main, early = null, fields, class: name, children }: FieldsFrame) {
  const { busy, error, start } = useAction(run)
  return (
    <form
      class={name}
      onSubmit={(event) => {
        event.preventDefault()
        start()
      }}
    >
      <WithRefusal error={error ?? early} words={faults} main={main}>
        {fields}
      </WithRefusal>
      {children(busy)}
    </form>
  )
}

interface FormFrame extends Omit<FieldsFrame, 'fields' | 'children' | 'class'> {
  /** The word on the button that sends it. */
  button: string
  disabled?: boolean
  /** Beside the button. */
  others?: ComponentChildren
  children: ComponentChildren
}

/** Fields with a button below them. */
export const Form = ({ button, disabled = false, others, children, ...sent }: FormFrame) => (
  <SentFields class="form" fields={children} {...sent}>
    {(busy) => (
      <div class="acts">
        <Button type="submit" look="main" text={button} busy={busy} disabled={disabled} />
        {others}
      </div>
    )}
  </SentFields>
)

/** What a list is filtered by; Enter in a field applies it. */
export const FilterForm = ({ onApply, children }: { onApply(): void; children: ComponentChildren }) => (
  <form
    class="filters"
    onSubmit={(event) => {
      event.preventDefault()
      onApply()
    }}
  >
    {children}
  </form>
)
