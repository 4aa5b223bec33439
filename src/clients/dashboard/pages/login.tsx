import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { ApiError, call, forgetSession, logIn } from '../api/client.ts'
import { Field } from '../parts/fields.tsx'
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
            <button class="btn plain small" type="button" onClick={() => setForgotten(true)}>
              {t.login.forgotten}
            </button>
          </LoginForm>
        )}
      </main>
    </div>
  )
}

/** Over a page whose session has ended: what was typed there is kept, and calls go on after the login. */
export function LoginAgain({ email: known }: { email: string }) {
  const [email, setEmail] = useState(known)
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="again" aria-labelledby={id} onCancel={(event) => event.preventDefault()}>
      <h2 id={id}>{t.login.again}</h2>
      <p class="muted">{t.login.againText}</p>
      <LoginForm email={email} onEmail={setEmail}>
        <button class="btn plain small" type="button" onClick={forgetSession}>
          {t.login.leave}
        </button>
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
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const enter = async (): Promise<void> => {
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
      <Field
        name="password"
        label={t.login.password}
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onValue={setPassword}
      />
      {needsCode && <Field name="code" label={t.login.code} autocomplete="one-time-code" required value={code} onValue={setCode} />}
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
          <button class="btn main" type="submit" aria-busy={busy}>
            {t.login.logIn}
          </button>
          <PasskeyLogin />
          {children}
        </>
      )}
    </SentFields>
  )
}
