import type { ComponentChildren } from 'preact'
import { t } from '../texts/texts.ts'
import { Fault, Refusal } from './answer.tsx'
import { useAction } from './controls.tsx'

interface FormFrame {
  /** The word on the button that sends it. */
  button: string
  run(): Promise<unknown>
  disabled?: boolean
  /** Beside the button. */
  others?: ComponentChildren
  /** What to say instead of the API's own words, by the names of its errors. */
  faults?: Record<string, string>
  children: ComponentChildren
}

/** Fields with a button below them; what was refused stands between. */
export function Form({ button, run, disabled = false, others, faults = {}, children }: FormFrame) {
  const { busy, error, start } = useAction(run)
  const fault = error && (error.status === 0 ? t.offline : faults[error.code])
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        start()
      }}
    >
      {children}
      {fault && <Fault text={fault} />}
      {error && !fault && <Refusal error={error} />}
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
