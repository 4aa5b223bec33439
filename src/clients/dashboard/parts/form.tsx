import type { ComponentChildren } from 'preact'
import { useAction } from './controls.tsx'
import { useFaultFocus, WithRefusal } from './refused.tsx'

interface FormFrame {
  /** The word on the button that sends it. */
  button: string
  run(): Promise<unknown>
  disabled?: boolean
  /** Beside the button. */
  others?: ComponentChildren
  /** What to say instead of the API's own words, by the names of its errors. */
  faults?: Record<string, string>
  /** The field that is at fault where the API names none. */
  main?: string
  children: ComponentChildren
}

/** Fields with a button below them. What was refused stands at its field, or between. */
export function Form({ button, run, disabled = false, others, faults = {}, main, children }: FormFrame) {
  const { busy, error, start } = useAction(run)
  const form = useFaultFocus<HTMLFormElement>(error)
  return (
    <form
      ref={form}
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        start()
      }}
    >
      <WithRefusal error={error} words={faults} main={main}>
        {children}
      </WithRefusal>
      <div class="acts">
        <button class="btn main" type="submit" aria-busy={busy} disabled={disabled}>
          {button}
        </button>
        {others}
      </div>
    </form>
  )
}

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
