import type { ComponentChildren, ComponentProps } from 'preact'
import { useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Fault } from './answer.tsx'
import { Icon, type IconName } from './icon.tsx'

type Look = 'main' | 'small' | 'plain' | 'small plain'

interface ButtonFrame extends Omit<ComponentProps<'button'>, 'class' | 'icon' | 'children'> {
  text: ComponentChildren
  icon?: IconName
  look?: Look | undefined
  /** While what it began is under way. */
  busy?: boolean
}

const classOf = (look: Look | undefined): string => (look === undefined ? 'btn' : `btn ${look}`)

export const Button = ({ text, icon, look, busy, ...attributes }: ButtonFrame) => (
  <button type="button" class={classOf(look)} aria-busy={busy} {...attributes}>
    {icon && <Icon name={icon} />}
    {text}
  </button>
)

/** A link that looks like one. */
export const ButtonLink = ({ text, href, look }: { text: string; href: string; look?: Look }) => (
  <Link class={classOf(look)} href={href}>
    {text}
  </Link>
)

/** A button that does something on the server. It is busy until the promise resolves; what it throws is shown below it. */
export function ActionButton({ run, ...button }: ButtonFrame & { run(): Promise<unknown> }) {
  const { busy, error, start } = useAction(run)
  return (
    <>
      <Button busy={busy} onClick={() => start()} {...button} />
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

/** A button that asks before it does something, or for what that needs. `dialog` asks. */
export function AskButton({ dialog, ...button }: ButtonFrame & { dialog(close: () => void): ComponentChildren }) {
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <Button onClick={() => setAsked(true)} {...button} />
      {isAsked && dialog(() => setAsked(false))}
    </>
  )
}
