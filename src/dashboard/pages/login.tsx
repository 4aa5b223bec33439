import { useEffect, useState } from 'preact/hooks'
import { ApiError, call, logIn } from '../api/client.ts'
import { Fault } from '../parts/answer.tsx'
import { Field } from '../parts/fields.tsx'
import { Mark } from '../parts/icon.tsx'
import { t } from '../texts/texts.ts'
import { ForgottenPassword } from './forgotten-password.tsx'
import { PasskeyLogin } from './passkey-login.tsx'

/** The page where one was stays in the address, and is shown after the login. */
export default function Login() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const [fault, setFault] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const [hasOwner, setOwner] = useState(true)
  const [isForgotten, setForgotten] = useState(false)
  useEffect(() => {
    document.title = t.title(isForgotten ? t.login.forgottenHeading : t.login.heading)
  }, [isForgotten])
  useEffect(() => {
    call<{ owner: boolean }>('/session/state').then(
      ({ owner }) => setOwner(owner),
      () => {},
    )
  }, [])
  const submit = async (): Promise<void> => {
    setBusy(true)
    setFault(null)
    try {
      await logIn({ email, password, ...(needsCode ? { code } : {}) })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.code === 'second_factor_required' && !needsCode) setNeedsCode(true)
      else setFault(error.code === 'invalid_credentials' ? (needsCode ? t.login.wrongCode : t.login.wrong) : error.message || t.offline)
    } finally {
      setBusy(false)
    }
  }
  return (
    <div class="entry">
      <main id="main">
        <p class="brand">
          <Mark />
          Sterna
        </p>
        <h1>{isForgotten ? t.login.forgottenHeading : t.login.heading}</h1>
        {isForgotten ? (
          <ForgottenPassword email={email} onBack={() => setForgotten(false)} />
        ) : (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              void submit()
            }}
          >
            <Field label={t.login.email} type="email" autocomplete="username" required value={email} onValue={setEmail} />
            <Field
              label={t.login.password}
              type="password"
              autocomplete="current-password"
              required
              value={password}
              onValue={setPassword}
            />
            {needsCode && <Field label={t.login.code} autocomplete="one-time-code" required value={code} onValue={setCode} />}
            {fault !== null && <Fault text={fault} />}
            {!hasOwner && <p class="muted">{t.login.noOwner}</p>}
            <button class="btn main" type="submit" aria-busy={busy}>
              {t.login.button}
            </button>
            <PasskeyLogin />
            <button class="btn plain small" type="button" onClick={() => setForgotten(true)}>
              {t.login.forgotten}
            </button>
          </form>
        )}
      </main>
    </div>
  )
}
