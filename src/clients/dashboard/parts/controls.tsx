import { useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'
import { copyText } from '../copy-text.ts'
import { csvOf, download } from '../download.ts'
import { t } from '../texts/texts.ts'
import { Fault } from './answer.tsx'
import { Icon, type IconName } from './icon.tsx'

interface Action {
  text: string
  icon?: IconName
  main?: boolean
  small?: boolean
  disabled?: boolean
  /** The button is busy until the promise resolves; what it throws is shown below it. */
  run(): Promise<unknown>
}

/** A button that does something on the server. */
export function ActionButton({ text, icon, main = false, small = false, disabled = false, run }: Action) {
  const { busy, error, start } = useAction(run)
  return (
    <>
      <button
        class={`btn${main ? ' main' : ''}${small ? ' small' : ''}`}
        type="button"
        disabled={disabled}
        aria-busy={busy}
        onClick={() => start()}
      >
        {icon && <Icon name={icon} />}
        {text}
      </button>
      {error && <Fault text={error.message || t.offline} />}
    </>
  )
}

/** Runs one thing at a time and keeps what went wrong. */
export function useAction<Given extends unknown[]>(run: (...given: Given) => Promise<unknown>) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  const start = (...given: Given): void => {
    if (busy) return
    setBusy(true)
    setError(null)
    run(...given)
      .catch((failure: unknown) => {
        if (!(failure instanceof ApiError)) throw failure
        setError(failure)
      })
      .finally(() => setBusy(false))
  }
  return { busy, error, start }
}

/** A value that somebody will want to paste elsewhere. */
export function CopyValue({ value, name, oneLine = false }: { value: string; name: string; oneLine?: boolean }) {
  return (
    <div class="copy">
      <code class={oneLine ? 'one' : ''}>{value}</code>
      <CopyButton value={value} name={name} />
    </div>
  )
}

export function CopyButton({ value, name }: { value: string; name: string }) {
  const [outcome, copy] = useCopy(value)
  const words = { none: t.common.copyOf(name), copied: t.common.copied, failed: t.common.notCopied }
  return (
    <button class="btn plain icon" type="button" aria-label={words[outcome]} title={words[outcome]} onClick={copy}>
      <Icon name={copyIcons[outcome]} />
    </button>
  )
}

/** Copies a text; the button says what it does in words. */
export function CopyTextButton({ value, text = t.common.copy, small = false }: { value: string; text?: string; small?: boolean }) {
  const [outcome, copy] = useCopy(value)
  return (
    <button class={small ? 'btn small' : 'btn'} type="button" onClick={copy}>
      <Icon name={copyIcons[outcome]} />
      {{ none: text, copied: t.common.copied, failed: t.common.notCopied }[outcome]}
    </button>
  )
}

type Outcome = 'none' | 'copied' | 'failed'
const copyIcons: Record<Outcome, IconName> = { none: 'copy', copied: 'check', failed: 'bad' }

/** Copies a text, and says for two seconds whether it did. */
function useCopy(value: string): [Outcome, () => void] {
  const [outcome, setOutcome] = useState<Outcome>('none')
  const tell = (told: Outcome): void => {
    setOutcome(told)
    setTimeout(() => setOutcome('none'), 2_000)
  }
  const copy = (): void =>
    void copyText(value).then(
      () => tell('copied'),
      () => tell('failed'),
    )
  return [outcome, copy]
}

/** A program or a file to copy. */
export const Code = ({ text, name }: { text: string; name: string }) => (
  <>
    <pre class="code" tabIndex={0} role="region" aria-label={name}>
      <code>{text}</code>
    </pre>
    <p>
      <CopyTextButton small value={text} />
    </p>
  </>
)

/** Saves rows, with the names of their columns first, as NAME.csv. */
export const CsvButton = ({ name, rows }: { name: string; rows(): string[][] }) => (
  <button class="btn small plain" type="button" onClick={() => download(`${name}.csv`, 'text/csv', csvOf(rows()))}>
    <Icon name="dl" />
    {t.common.csv}
  </button>
)

/** One of several views of the same thing. */
export function Tabs({
  name,
  tabs,
  current,
  onTab,
}: {
  name: string
  tabs: [string, string][]
  current: string
  onTab(tab: string): void
}) {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const place = tabs.findIndex(([tab]) => tab === current)
    const next = tabs[(place + step + tabs.length) % tabs.length]
    if (!next) return
    onTab(next[0])
    ;(event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab="${next[0]}"]`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={name} onKeyDown={move}>
      {tabs.map(([tab, word]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          data-tab={tab}
          aria-selected={tab === current}
          tabIndex={tab === current ? 0 : -1}
          onClick={() => onTab(tab)}
        >
          {word}
        </button>
      ))}
    </div>
  )
}

export const Segments = ({
  name,
  options,
  current,
  onChoice,
}: {
  name: string
  options: [string, string][]
  current: string
  onChoice(option: string): void
}) => (
  <div class="seg" role="group" aria-label={name}>
    {options.map(([option, word]) => (
      <button key={option} type="button" aria-pressed={option === current} onClick={() => onChoice(option)}>
        {word}
      </button>
    ))}
  </div>
)
