import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { t } from '../texts/texts.ts'

/** Asks for a link with which another password can be set. Whether somebody has this address is not told. */
export function ForgottenPassword({ email: typed, onBack }: { email: string; onBack(): void }) {
  const [email, setEmail] = useState(typed)
  const [askedFor, setAskedFor] = useState<string | null>(null)
  const ask = async (): Promise<void> => {
    await call('/session/password/reset', { method: 'POST', body: { email } })
    setAskedFor(email)
  }
  const back = <Button text={t.login.back} onClick={onBack} />
  if (askedFor !== null) {
    return (
      <div class="form">
        <p role="status">{t.login.mailed(askedFor)}</p>
        <p class="muted">{t.login.noMail}</p>
        <div class="acts">{back}</div>
      </div>
    )
  }
  const faults = { invalid_state: t.login.noMailHere, rate_limit_exceeded: t.login.tooMany }
  return (
    <Form main="email" button={t.login.sendLink} run={ask} disabled={email.trim() === ''} others={back} faults={faults}>
      <Field name="email" label={t.login.email} type="email" autocomplete="username" required value={email} onValue={setEmail} />
    </Form>
  )
}
