import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useAll, useApi } from '../api/cache.ts'
import type { ApiKey, Doctor, Domain, EmailItem, List } from '../api/types.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Page } from '../parts/page.tsx'
import { State } from '../parts/state.tsx'
import { isOperator } from '../rights.ts'
import { navigate } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { DomainStep } from '../welcome/domain-step.tsx'
import { EmailStep } from '../welcome/email-step.tsx'
import { KeyStep } from '../welcome/key-step.tsx'
import { leaveWelcome } from '../welcome/left.ts'
import { OwnerStep } from '../welcome/owner-step.tsx'
import { ServerStep } from '../welcome/server-step.tsx'

interface Step {
  name: string
  title: string
  done: boolean
  /** A status of the API, and the word that takes the place of its own. */
  state: [status: string, word: string] | null
  /** What there is to say or do, also when it is done. */
  content: ComponentChildren
}

/** The way from a new server to the first email that was delivered. */
export default function Welcome() {
  const doctor = useApi<Doctor>(isOperator() ? '/api/doctor?max_age=600' : null)
  const domains = useAll<Domain>('/api/domains')
  const keys = useAll<ApiKey>('/api/api-keys')
  const latest = useApi<List<EmailItem>>('/api/emails?limit=1')
  const [token, setToken] = useState<string | null>(null)
  const [isKept, setKept] = useState(false)
  const [skipped, setSkipped] = useState<ReadonlySet<string>>(new Set())

  const domain = domains.data?.data.find(({ status }) => status === 'verified') ?? domains.data?.data[0]
  const key = keys.data?.data.find(({ sandbox }) => !sandbox)
  const email = latest.data?.data[0]
  const hasKey = key !== undefined && (token === null || isKept)
  const steps: Step[] = [
    { name: 'owner', title: t.roles.owner, done: true, state: ['ok', t.welcome.done], content: <OwnerStep /> },
    ...(isOperator() ? [serverStep(doctor.data, <ServerStep of={doctor} />)] : []),
    {
      name: 'domain',
      title: t.welcome.domain,
      done: domain?.status === 'verified',
      state: domain ? [domain.status, t.status[domain.status] ?? domain.status] : null,
      content: <DomainStep domain={domain} />,
    },
    {
      name: 'key',
      title: t.welcome.key,
      done: hasKey,
      state: hasKey ? ['ok', t.welcome.made] : null,
      content: <KeyStep apiKey={key} token={isKept ? null : token} onMade={setToken} onKept={() => setKept(true)} />,
    },
    {
      name: 'email',
      title: t.welcome.email,
      done: email?.status === 'delivered',
      state: email ? [email.status, t.status[email.status] ?? email.status] : null,
      content: <EmailStep domain={domain} token={token} latest={latest} />,
    },
  ]
  const current = steps.find(({ name, done }) => !done && !skipped.has(name))
  const done = steps.filter((step) => step.done).length
  const leave = (): void => {
    leaveWelcome()
    navigate('/')
  }
  return (
    <Page
      narrow
      title={t.welcome.title}
      heading={t.welcome.heading(done, steps.length)}
      sub={done === steps.length ? t.welcome.allDone : t.welcome.next[current?.name ?? '']}
      actions={
        done === steps.length ? (
          <ButtonLink look="main" text={t.nav.overview} href="/" />
        ) : (
          <Button look="plain" text={t.welcome.leave} onClick={leave} />
        )
      }
    >
      <ol class="steps">
        {steps.map((step, place) => (
          <StepRow
            key={step.name}
            step={step}
            number={place + 1}
            isCurrent={step === current}
            onSkip={place < steps.length - 1 ? () => setSkipped(new Set([...skipped, step.name])) : null}
            onOpen={() => setSkipped(new Set(steps.slice(0, place).map(({ name }) => name)))}
          />
        ))}
      </ol>
    </Page>
  )
}

function serverStep(doctor: Doctor | undefined, content: ComponentChildren): Step {
  const failed = doctor?.findings.filter(({ status }) => status === 'failed').length ?? 0
  const warnings = doctor?.findings.filter(({ status }) => status === 'warning').length ?? 0
  const word = failed > 0 ? t.welcome.failed(failed) : warnings > 0 ? t.welcome.warnings(warnings) : (t.status['ok'] ?? '')
  return {
    name: 'server',
    title: t.welcome.server,
    done: doctor !== undefined && failed === 0,
    state: doctor ? [doctor.status, word] : null,
    content,
  }
}

interface RowFrame {
  step: Step
  number: number
  isCurrent: boolean
  /** Null for the last step. */
  onSkip: (() => void) | null
  onOpen(): void
}

function StepRow({ step: { title, done, state, content }, number, isCurrent, onSkip, onOpen }: RowFrame) {
  return (
    <li aria-current={isCurrent ? 'step' : undefined}>
      <div class={done ? 'n done' : isCurrent ? 'n now' : 'n'} aria-hidden="true">
        {done ? <Icon name="check" /> : number}
      </div>
      <div>
        <div class="st-head">
          <h2>{title}</h2>
          {state && <State of={state[0]} word={state[1]} />}
          {isCurrent && onSkip && (
            <Button look="small plain" text={t.welcome.skip} aria-label={t.welcome.skipStep(title)} onClick={onSkip} />
          )}
          {!isCurrent && !done && <Button look="small" text={t.common.open} aria-label={t.welcome.openStep(title)} onClick={onOpen} />}
        </div>
        {(isCurrent || done) && content}
      </div>
    </li>
  )
}
