import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { liveState, sandboxState } from '../api/live.ts'
import { LinkAbove } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Icon, type IconName } from './icon.tsx'

export interface PageFrame {
  /** Names the tab; the heading if not given. */
  title?: string
  heading: string
  crumb?: { href: string; text: string }
  sub?: ComponentChildren
  actions?: ComponentChildren
  narrow?: boolean
  children?: ComponentChildren
}

/** A page: its heading answers the question that it is for. Focus goes to the heading when the page opens. */
export function Page({ title, heading, crumb, sub, actions, narrow = false, children }: PageFrame) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => head.current?.focus({ preventScroll: true }), [])
  useEffect(() => {
    document.title = t.title(title ?? heading)
  }, [title ?? heading])
  return (
    <main class={narrow ? 'page narrow' : 'page'} id="main">
      <div class="head">
        <div>
          {crumb && (
            <p class="crumb">
              <LinkAbove path={crumb.href} text={crumb.text} />
            </p>
          )}
          <h1 ref={head} tabIndex={-1}>
            {heading}
          </h1>
          {sub && <p class="sub">{sub}</p>}
        </div>
        {actions && <div class="acts">{actions}</div>}
      </div>
      {children}
    </main>
  )
}

interface PanelFrame {
  heading: string
  /** Beside the heading. */
  aside?: ComponentChildren
  /** Below the heading. */
  text?: ComponentChildren
  children?: ComponentChildren
}

export function Panel({ heading, aside, text, children }: PanelFrame) {
  const id = useId()
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{heading}</h2>
        {aside}
        {text && <p class="muted">{text}</p>}
      </header>
      {children}
    </section>
  )
}

const noteIcons: Record<'ok' | 'wait' | 'bad', IconName> = { ok: 'ok', wait: 'wait', bad: 'bad' }

interface NoteFrame {
  tone: 'ok' | 'wait' | 'bad'
  /** The bold sentence that it begins with. */
  says?: ComponentChildren
  /** How a screen reader is told of that: for what comes while the page is shown. */
  role?: 'status' | 'alert'
  action?: ComponentChildren
  children?: ComponentChildren
}

/** Something to know or to do: one bold sentence, and what follows from it. */
export const Note = ({ tone, says, role, action, children }: NoteFrame) => (
  <div class={`note ${tone}`}>
    <Icon name={noteIcons[tone]} />
    <div>
      {says !== undefined && (
        <p role={role}>
          <b>{says}</b>
        </p>
      )}
      {children}
    </div>
    {action}
  </div>
)

/** Whether what is seen moves by itself. */
export const Live = ({ sandbox = false }: { sandbox?: boolean }) => {
  const state = (sandbox ? sandboxState : liveState).value
  return <span class={state === 'live' ? 'live' : 'live off'}>{t.live[state]}</span>
}

/** A table that scrolls by itself where it is too wide; `name` says what it is of. */
export const Scroll = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div class="scroll" tabIndex={0} role="region" aria-label={t.common.tableOf(name)}>
    {children}
  </div>
)

/** What is there, and is fetched, only once somebody opens it. */
export function Unfold({ word, open = false, children }: { word: ComponentChildren; open?: boolean; children(): ComponentChildren }) {
  const [isOpen, setOpen] = useState(open)
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" />
        {word}
      </summary>
      {isOpen && children()}
    </details>
  )
}

/** Facts of an object, each with its name. */
export const Facts = ({ children }: { children: ComponentChildren }) => <dl class="facts">{children}</dl>

/** Left out where there is nothing to say. */
export const Fact = ({ name, children }: { name: ComponentChildren; children: ComponentChildren }) =>
  children ? (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  ) : null
