import { useState } from 'preact/hooks'
import { invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Email, EmailRecipient } from '../api/types.ts'
import { minuteOf } from '../days.ts'
import { mayChange, maySend } from '../rights.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Dialog } from './dialog.tsx'
import { Choice, Field } from './fields.tsx'

const notReached = new Set(['bounced', 'failed', 'suppressed'])

/** What can be done with an email after it was accepted. */
export function EmailActions({ email }: { email: Email }) {
  const [asked, setAsked] = useState<'again' | 'cancel' | 'move' | 'suppress' | null>(null)
  const [sentAgain, setSentAgain] = useState<string | null>(null)
  // What is on the suppression list would be left out again.
  const reachable = email.recipients.filter(({ suppression }) => suppression === null)
  const failed = reachable.filter(({ status }) => notReached.has(status)).length
  const path = `/api/emails/${email.id}`
  const close = (): void => setAsked(null)
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
      {maySend() && failed > 0 && <Ask text={t.email.sendAgain(failed)} onAsk={() => setAsked('again')} />}
      {maySend() && isScheduled && <Ask text={t.email.move} onAsk={() => setAsked('move')} />}
      {maySend() && isScheduled && <Ask text={t.email.cancel} onAsk={() => setAsked('cancel')} />}
      {mayChange() && reachable.length > 0 && <Ask text={t.email.suppress} onAsk={() => setAsked('suppress')} />}
      {asked === 'again' && (
        <Dialog heading={t.email.sendAgain(failed)} button={t.email.sendAgain(failed)} run={sendAgain} onClose={close}>
          <p>{t.email.sendAgainText(failed)}</p>
        </Dialog>
      )}
      {asked === 'cancel' && (
        <Dialog heading={t.email.cancel} button={t.email.cancel} run={cancel} onClose={close}>
          <p>{t.email.cancelText}</p>
        </Dialog>
      )}
      {asked === 'move' && <Move email={email} onClose={close} />}
      {asked === 'suppress' && <Suppress path={path} recipients={reachable} onClose={close} />}
    </>
  )
}

const Ask = ({ text, onAsk }: { text: string; onAsk(): void }) => (
  <button class="btn" type="button" onClick={onAsk}>
    {text}
  </button>
)

function Move({ email, onClose }: { email: Email; onClose(): void }) {
  const [time, setTime] = useState(minuteOf(new Date(email.scheduled_at ?? email.created_at)))
  const path = `/api/emails/${email.id}`
  const move = async (): Promise<void> => {
    await call(path, { method: 'PATCH', body: { scheduled_at: new Date(time).toISOString() } })
    invalidate(path)
  }
  return (
    <Dialog main="scheduled_at" heading={t.email.move} button={t.email.move} run={move} onClose={onClose} disabled={time === ''}>
      <Field name="scheduled_at" label={t.email.moveTo} hint={t.email.moveHint} type="datetime-local" value={time} onValue={setTime} />
    </Dialog>
  )
}

function Suppress({ path, recipients, onClose }: { path: string; recipients: EmailRecipient[]; onClose(): void }) {
  const addresses = [...new Set(recipients.map(({ email }) => email))]
  const [address, setAddress] = useState(addresses[0] ?? '')
  const suppress = async (): Promise<void> => {
    await call('/api/suppressions', { method: 'POST', body: { email: address } })
    invalidate('/api/suppressions', path)
  }
  return (
    <Dialog heading={t.email.suppress} button={t.email.suppressButton} run={suppress} onClose={onClose}>
      <Choice
        name="email"
        label={t.common.recipient}
        value={address}
        options={addresses.map((each) => [each, each])}
        onValue={setAddress}
      />
      <p>{t.suppressions.addText}</p>
    </Dialog>
  )
}
