import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { eventTypes } from '../../../mail/event/event-type.ts'
import type { Attempt, Email, MailEvent } from '../api/types.ts'
import { clockTime, dayAndTime, hourMinute } from '../format.ts'
import { explained } from '../say.ts'
import { t } from '../texts/texts.ts'
import { Switch } from './fields.tsx'
import { Icon, type IconName } from './icon.tsx'
import { Panel, Unfold } from './page.tsx'
import type { Tone } from './state.tsx'
import { WhatToDo } from './what-to-do.tsx'

const looks: Record<string, { look: readonly [IconName, Tone] } | undefined> = eventTypes
const machineLook: [IconName, Tone] = ['gear', 'quiet']
/** Opens and clicks by what fetches mail ahead of its reader, or checks it. */
const isMachine = ({ data }: MailEvent): boolean => data.bot === true

/** The log has a suppressed recipient as a bounce, because each recipient ends with an event; nothing was sent that could bounce. */
const isSuppressed = ({ type, data }: MailEvent): boolean => type === 'email.bounced' && data.bounce_category === 'suppressed'

const wordOf = (event: MailEvent): string =>
  (isSuppressed(event) ? t.status['suppressed'] : undefined) ??
  (isMachine(event) ? t.email.machineEvents[event.type] : undefined) ??
  t.email.events[event.type] ??
  event.type

function lookOf(event: MailEvent): readonly [IconName, Tone] {
  if (isMachine(event)) return machineLook
  if (isSuppressed(event)) return ['ban', 'quiet']
  return looks[event.type]?.look ?? ['mail', 'quiet']
}

/** Events that an attempt led to. */
const outcomes: Record<string, Attempt['outcome']> = {
  'email.deferred': 'deferred',
  'email.delivered': 'delivered',
  'email.relayed': 'delivered',
  'email.bounced': 'bounced',
}
/** Between the end of an attempt and the event that tells of it, ms. */
const writtenWithinMs = 30_000

/** What happened to an email, newest first, with the dialogue of each attempt. */
export function EmailTimeline({ email, attempts, events }: { email: Email; attempts: Attempt[]; events: MailEvent[] }) {
  const [recipient, setRecipient] = useState('')
  const isLate = Date.now() - Date.parse(email.created_at) > 24 * 3_600_000
  const [withMachines, setWithMachines] = useState(true)
  const seen = events.filter((event) => (recipient === '' || event.data.to === recipient) && (withMachines || !isMachine(event)))
  const choice = email.recipients.length > 1 && (
    <select aria-label={t.email.showRecipient} value={recipient} onChange={(event) => setRecipient(event.currentTarget.value)}>
      <option value="">{t.email.allRecipients}</option>
      {email.recipients.map(({ email: address }) => (
        <option key={address} value={address}>
          {address}
        </option>
      ))}
    </select>
  )
  return (
    <Panel heading={t.email.happened} aside={choice}>
      {events.some(isMachine) && (
        <div class="body">
          <Switch name={null} label={t.email.showMachines} value={withMachines} onValue={setWithMachines} />
        </div>
      )}
      <ol class="time">
        {seen.map((event) => {
          const [icon, tone] = lookOf(event)
          const attempt = attemptOf(event, attempts)
          return (
            <li key={event.id}>
              <Icon name={icon} class={tone} />
              <div class="what">
                <p>
                  <b>{wordOf(event)}</b> {t.email.forWhom(event.data.to)}
                </p>
                <Detail event={event} attempt={attempt} cause={causeOf(event, email)} />
              </div>
              <time dateTime={event.created_at} title={event.created_at}>
                {isLate ? dayAndTime(event.created_at) : clockTime(event.created_at)}
              </time>
              {attempt && <Dialogue attempt={attempt} number={numberOf(attempt, attempts)} />}
            </li>
          )
        })}
      </ol>
    </Panel>
  )
}

/** What a smarthost reports follows from no attempt of ours. */
const attemptOf = ({ type, created_at: at, data }: MailEvent, attempts: Attempt[]): Attempt | undefined => {
  const outcome = outcomes[type]
  if (outcome === undefined || data.reported_by) return undefined
  return attempts.find((attempt) => {
    const after = Date.parse(at) - (Date.parse(attempt.started_at) + attempt.duration_ms)
    return attempt.recipient === data.to && attempt.outcome === outcome && Math.abs(after) < writtenWithinMs
  })
}

/** Attempts count for each recipient, from 1. */
const numberOf = (attempt: Attempt, attempts: Attempt[]): number =>
  attempts.filter(({ recipient, started_at: at }) => recipient === attempt.recipient && at <= attempt.started_at).length

/** Why a recipient got nothing, as it is explained above. */
function causeOf({ type, data }: MailEvent, { recipients }: Email): string {
  const code = type === 'email.bounced' ? recipients.find(({ email }) => email === data.to)?.explanation?.code : undefined
  return t.causes[code ?? data.bounce_category ?? ''] ?? ''
}

interface Told {
  event: MailEvent
  attempt: Attempt | undefined
  cause: string
}

function Detail(told: Told) {
  const text = detailOf(told)
  return text === '' ? null : <p>{text}</p>
}

function detailOf({ event, attempt, cause }: Told): ComponentChildren {
  const { type, data } = event
  if (isSuppressed(event)) return cause
  const reported = data.reported_by && type !== 'email.complained' ? t.email.reportedBy(data.reported_by) : ''
  switch (type) {
    case 'email.delivered':
    case 'email.relayed':
      if (reported) return reported
      return attempt
        ? [
            transportOf(attempt),
            attempt.tls_policy && t.email.tlsPolicy[attempt.tls_policy],
            attempt.tls_policy_source && t.email.tlsPolicySource[attempt.tls_policy_source],
            attempt.mta_sts?.mode === 'testing' && t.email.stsTesting(attempt.mta_sts.objection),
            t.email.signedBy(attempt.dkim_selectors.length),
          ]
            .filter(Boolean)
            .join(', ')
        : ''
    case 'email.deferred':
      return [data.reason, data.next_attempt_at && t.email.nextTry(hourMinute(data.next_attempt_at))].filter(Boolean).join(' · ')
    case 'email.bounced':
      return [`${t.email.bounceType[data.bounce_type ?? ''] ?? ''}, ${cause}: ${data.reason ?? ''}`, reported].filter(Boolean).join(' · ')
    case 'email.opened':
      return data.user_agent ?? ''
    case 'email.clicked':
      return [data.link, data.user_agent].filter(Boolean).join(', ')
    default:
      return ''
  }
}

const transportOf = ({ tls, plain_because: because }: Attempt): string =>
  tls ? t.email.tls(tls) : because === null ? t.email.noTls : t.email.plainBecause(because)

const Dialogue = ({ attempt, number }: { attempt: Attempt; number: number }) => (
  <Unfold word={t.email.attempt(number, attempt.mx_host)}>
    {() => (
      <>
        {attempt.outcome !== 'delivered' && (
          <>
            <p>{explained(attempt.explanation).cause}</p>
            <WhatToDo explanation={attempt.explanation} />
          </>
        )}
        <div class="talk">
          {attempt.transcript.map(({ ms, side, line }, place) => (
            <Line key={place} ms={ms} side={side} line={line} />
          ))}
          {attempt.transcript.length === 0 && <Line ms={attempt.duration_ms} side={null} line={attempt.reply ?? ''} />}
        </div>
      </>
    )}
  </Unfold>
)

const Line = ({ ms, side, line }: { ms: number; side: 'client' | 'server' | null; line: string }) => (
  <>
    <span>{ms} ms</span>
    <b>{side === 'client' ? 'C' : side === 'server' ? 'S' : ''}</b>
    <code class={side === 'server' && /^[45]\d\d/.test(line) ? 'bad' : ''}>{line}</code>
  </>
)
