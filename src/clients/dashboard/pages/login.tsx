import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { ApiError, call, forgetSession, logIn } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { useModal } from '../parts/dialog.tsx'
import { Field, useFields } from '../parts/fields.tsx'
import { SentFields } from '../parts/form.tsx'
import { Mark } from '../parts/icon.tsx'
import { t } from '../texts/texts.ts'
import { ForgottenPassword } from './forgotten-password.tsx'
import { PasskeyLogin } from './passkey-login.tsx'

/** The page where one was stays in the address, and is shown after the login. */
export default function Login() {
  const [email, setEmail] = useState('')
  const [hasOwner, setOwner] = useState(true)
  const [isForgotten, setForgotten] = useState(false)
  useEffect(() => {
    document.title = t.title(isForgotten ? t.login.forgottenHeading : t.login.logIn)
  }, [isForgotten])
  useEffect(() => {
    call<{ owner: boolean }>('/session/state').then(
      ({ owner }) => setOwner(owner),
      () => {},
    )
  }, [])
  return (
    <div class="entry">
      <main id="main">
        <p class="brand">
          <Mark />
          Sterna
        </p>
        <h1>{isForgotten ? t.login.forgottenHeading : t.login.logIn}</h1>
        {isForgotten ? (
          <ForgottenPassword email={email} onBack={() => setForgotten(false)} />
        ) : (
          <LoginForm email={email} onEmail={setEmail}>
            {!hasOwner && <p class="muted">{t.login.noOwner}</p>}
            <Button look="small plain" text={t.login.forgotten} onClick={() => setForgotten(true)} />
          </LoginForm>
        )}
      </main>
    </div>
  )
}

/** Over a page whose session has ended: what was typed there is kept, and calls go on after the login. */
export function LoginAgain({ email: known }: { email: string }) {
  const [email, setEmail] = useState(known)
  const dialog = useModal()
  const id = useId()
  return (
    <dialog ref={dialog} class="again" aria-labelledby={id} onCancel={(event) => event.preventDefault()}>
      <h2 id={id}>{t.login.again}</h2>
      <p class="muted">{t.login.againText}</p>
      <LoginForm email={email} onEmail={setEmail}>
        <Button look="small plain" text={t.login.leave} onClick={forgetSession} />
      </LoginForm>
    </dialog>
  )
}

interface LoginFrame {
  email: string
  onEmail(email: string): void
  children: ComponentChildren
}

function LoginForm({ email, onEmail, children }: LoginFrame) {
  const { values, field } = useFields({ password: '', code: '' })
  const [needsCode, setNeedsCode] = useState(false)
  const enter = async (): Promise<void> => {
    const { password, code } = values
    try {
      await logIn({ email, password, ...(needsCode ? { code } : {}) })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'second_factor_required' || needsCode) throw error
      setNeedsCode(true)
    }
  }
  const fields = (
    <>
      <Field name="email" label={t.login.email} type="email" autocomplete="username" required value={email} onValue={onEmail} />
      <Field {...field('password')} label={t.login.password} type="password" autocomplete="current-password" required />
      {needsCode && <Field {...field('code')} label={t.login.code} autocomplete="one-time-code" required />}
    </>
  )
  return (
    <SentFields
      run={enter}
      fields={fields}
      faults={{ invalid_credentials: needsCode ? t.login.wrongCode : t.login.wrong }}
      main={needsCode ? 'code' : undefined}
    >
      {(busy) => (
        <>
          <Button type="submit" look="main" text={t.login.logIn} busy={busy} />
          <PasskeyLogin />
          {children}
        </>
      )}
    </SentFields>
  )
}
