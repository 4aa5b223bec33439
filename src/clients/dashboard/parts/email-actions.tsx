import { useState } from 'preact/hooks'
import { invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Email, EmailRecipient } from '../api/types.ts'
import { minuteOf } from '../days.ts'
import { mayChange, maySend } from '../rights.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { AskButton } from './button.tsx'
import { Dialog, ConfirmButton } from './dialog.tsx'
import { Choice, Field, useFields } from './fields.tsx'

const notReached = new Set(['bounced', 'failed', 'suppressed'])

/** What can be done with an email after it was accepted. */
export function EmailActions({ email }: { email: Email }) {
  const [sentAgain, setSentAgain] = useState<string | null>(null)
  // What is on the suppression list would be left out again.
  const reachable = email.recipients.filter(({ suppression }) => suppression === null)
  const failed = reachable.filter(({ status }) => notReached.has(status)).length
  const path = `/api/emails/${email.id}`
  const isScheduled = email.status === 'scheduled'
  const sendAgain = async (): Promise<void> => {
    const { id } = await call<{ id: string }>(`${path}/resend`, { method: 'POST' })
    setSentAgain(id)
  }
  const cancel = async (): Promise<void> => {
    await call(`${path}/cancel`, { method: 'POST' })
    invalidate(path)
  }
  return (
    <>
      {sentAgain !== null && (
        <p role="status">
          {t.email.sentAgain}
          <Link href={`/emails/${sentAgain}`}>{sentAgain}</Link>
        </p>
      )}
      {maySend() && failed > 0 && <ConfirmButton text={t.email.sendAgain(failed)} says={t.email.sendAgainText(failed)} run={sendAgain} />}
      {maySend() && isScheduled && <AskButton text={t.email.move} dialog={(close) => <Move email={email} onClose={close} />} />}
      {maySend() && isScheduled && <ConfirmButton text={t.email.cancel} says={t.email.cancelText} run={cancel} />}
      {mayChange() && reachable.length > 0 && (
        <AskButton text={t.email.suppress} dialog={(close) => <Suppress path={path} recipients={reachable} onClose={close} />} />
      )}
    </>
  )
}

function Move({ email, onClose }: { email: Email; onClose(): void }) {
  const { values, field } = useFields({ scheduled_at: minuteOf(new Date(email.scheduled_at ?? email.created_at)) })
  const path = `/api/emails/${email.id}`
  const move = async (): Promise<void> => {
    await call(path, { method: 'PATCH', body: { scheduled_at: new Date(values.scheduled_at).toISOString() } })
    invalidate(path)
  }
  return (
    <Dialog
      main="scheduled_at"
      heading={t.email.move}
      button={t.email.move}
      run={move}
      onClose={onClose}
      disabled={values.scheduled_at === ''}
    >
      <Field {...field('scheduled_at')} label={t.email.moveTo} hint={t.email.moveHint} type="datetime-local" />
    </Dialog>
  )
}

function Suppress({ path, recipients, onClose }: { path: string; recipients: EmailRecipient[]; onClose(): void }) {
  const addresses = [...new Set(recipients.map(({ email }) => email))]
  const { values, field } = useFields({ email: addresses[0] ?? '' })
  const suppress = async (): Promise<void> => {
    await call('/api/suppressions', { method: 'POST', body: values })
    invalidate('/api/suppressions', path)
  }
  return (
    <Dialog heading={t.email.suppress} button={t.email.suppressButton} run={suppress} onClose={onClose}>
      <Choice {...field('email')} label={t.common.recipient} options={addresses.map((each) => [each, each])} />
      <p>{t.suppressions.addText}</p>
    </Dialog>
  )
}
