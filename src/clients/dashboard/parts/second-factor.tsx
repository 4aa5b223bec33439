import { useState } from 'preact/hooks'
import { call, loadSession } from '../api/client.ts'
import { download } from '../download.ts'
import { t } from '../texts/texts.ts'
import { Button } from './button.tsx'
import { CopyValue, CopyTextButton } from './controls.tsx'
import { CurrentPassword } from './current-password.tsx'
import { Field, useFields } from './fields.tsx'
import { Form } from './form.tsx'
import { QrCode } from './qr-code.tsx'

interface TotpSecret {
  secret: string
  uri: string
}

type Step = { name: 'password' } | { name: 'app'; app: TotpSecret } | { name: 'codes'; codes: string[] }

/** Sets the second factor of the user up: the password, the app with a code from it, and the recovery codes to keep. */
export function SecondFactorSetup({ onDone }: { onDone(): void }) {
  const [step, setStep] = useState<Step>({ name: 'password' })
  if (step.name === 'password') return <AskPassword onSecret={(app) => setStep({ name: 'app', app })} />
  if (step.name === 'app') return <AskCode app={step.app} onCodes={(codes) => setStep({ name: 'codes', codes })} />
  const kept = async (): Promise<void> => {
    await loadSession()
    onDone()
  }
  return <RecoveryCodes codes={step.codes} onKept={kept} />
}

function AskPassword({ onSecret }: { onSecret(app: TotpSecret): void }) {
  const { values, field } = useFields({ password: '' })
  const begin = async (): Promise<void> => onSecret(await call<TotpSecret>('/session/totp', { method: 'POST', body: values }))
  return (
    <Form
      main="password"
      button={t.common.continue}
      run={begin}
      disabled={values.password === ''}
      faults={{ invalid_credentials: t.me.wrongPassword }}
    >
      <p>{t.secondFactor.why}</p>
      <CurrentPassword {...field('password')} hint={t.me.whyPassword} />
    </Form>
  )
}

function AskCode({ app: { secret, uri }, onCodes }: { app: TotpSecret; onCodes(codes: string[]): void }) {
  const { values, field } = useFields({ code: '' })
  const confirm = async (): Promise<void> => {
    const body = { code: values.code.replace(/\s/g, '') }
    onCodes((await call<{ recovery_codes: string[] }>('/session/totp/confirm', { method: 'POST', body })).recovery_codes)
  }
  return (
    <Form
      button={t.secondFactor.turnOn}
      run={confirm}
      disabled={values.code.trim() === ''}
      faults={{ invalid_credentials: t.secondFactor.wrongCode }}
      main="code"
    >
      <p>{t.secondFactor.scan}</p>
      <QrCode text={uri} name={t.secondFactor.qrCode} />
      <div class="labelled">
        <span class="muted">{t.secondFactor.orType}</span>
        <CopyValue value={secret} name={t.secondFactor.secret} />
      </div>
      <Field
        {...field('code')}
        label={t.secondFactor.code}
        hint={t.secondFactor.codeHint}
        autocomplete="one-time-code"
        inputMode="numeric"
        maxLength={10}
      />
    </Form>
  )
}

function RecoveryCodes({ codes, onKept }: { codes: string[]; onKept(): Promise<void> }) {
  const text = codes.join('\n')
  const others = (
    <>
      <CopyTextButton value={text} />
      <Button text={t.common.download} onClick={() => download('sterna-recovery-codes.txt', 'text/plain', `${text}\n`)} />
    </>
  )
  return (
    <Form button={t.secondFactor.kept} run={onKept} others={others}>
      <p role="status">
        <b>{t.secondFactor.isOn}</b> {t.secondFactor.codesText}
      </p>
      <ol class="codes" aria-label={t.secondFactor.codes}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
    </Form>
  )
}
