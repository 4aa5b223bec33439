import { useState } from 'preact/hooks'
import { callForResponse } from '../api/client.ts'
import { copyText } from '../copy-text.ts'
import { csvOf, download } from '../download.ts'
import { t } from '../texts/texts.ts'
import { ActionButton, Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'
import { Fact } from './page.tsx'

/** A value that somebody will want to paste elsewhere. */
export function CopyValue({ value, name, oneLine = false }: { value: string; name: string; oneLine?: boolean }) {
  return (
    <div class="copy">
      <code class={oneLine ? 'one' : ''}>{value}</code>
      <CopyButton value={value} name={name} />
    </div>
  )
}

/** A value that somebody will want to paste elsewhere. `of`: what it belongs to, where several have one of this name. */
export const CopyFact = ({ name, value, of, oneLine = false }: { name: string; value: string; of?: string; oneLine?: boolean }) => (
  <Fact name={name}>
    <CopyValue value={value} name={of === undefined ? name : `${name}, ${of}`} oneLine={oneLine} />
  </Fact>
)

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
export function CopyTextButton({ value, text = t.common.copy, look }: { value: string; text?: string; look?: 'small' }) {
  const [outcome, copy] = useCopy(value)
  return (
    <Button
      look={look}
      icon={copyIcons[outcome]}
      text={{ none: text, copied: t.common.copied, failed: t.common.notCopied }[outcome]}
      onClick={copy}
    />
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
      <CopyTextButton look="small" value={text} />
    </p>
  </>
)

/** Saves rows, with the names of their columns first, as NAME.csv. */
export const CsvButton = ({ name, rows }: { name: string; rows(): string[][] }) => (
  <Button look="small plain" icon="dl" text={t.common.csv} onClick={() => download(`${name}.csv`, 'text/csv', csvOf(rows()))} />
)

/** Saves what the API answers at a path as a file. */
export const SaveButton = ({ path, file, type, sandbox = false, ...button }: SaveFrame) => (
  <ActionButton icon="dl" {...button} run={async () => download(file, type, await (await callForResponse(path, { sandbox })).blob())} />
)

interface SaveFrame {
  text: string
  look?: 'small'
  path: string
  file: string
  type: string
  sandbox?: boolean
}

interface ViewsFrame {
  name: string
  /** Each with its word. */
  options: [string, string][]
  current: string
  onChoice(option: string): void
}

/** Several views of the same thing. */
export function Tabs({ name, options, current, onChoice }: ViewsFrame) {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const place = options.findIndex(([tab]) => tab === current)
    const next = options[(place + step + options.length) % options.length]
    if (!next) return
    onChoice(next[0])
    ;(event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab="${next[0]}"]`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={name} onKeyDown={move}>
      {options.map(([tab, word]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          data-tab={tab}
          aria-selected={tab === current}
          tabIndex={tab === current ? 0 : -1}
          onClick={() => onChoice(tab)}
        >
          {word}
        </button>
      ))}
    </div>
  )
}

/** The same, smaller: a few ways to look at something. */
export const Segments = ({ name, options, current, onChoice }: ViewsFrame) => (
  <div class="seg" role="group" aria-label={name}>
    {options.map(([option, word]) => (
      <button key={option} type="button" aria-pressed={option === current} onClick={() => onChoice(option)}>
        {word}
      </button>
    ))}
  </div>
)
