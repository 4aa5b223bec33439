import { useState } from 'preact/hooks'
import { apiNameOf, type Policy, type PolicyField } from '../../../senders/account/policy.ts'
import { msOf, shortDuration } from '../../../platform/config/duration.ts'
import { useApi } from '../api/cache.ts'
import { ApiError, call } from '../api/client.ts'
import { policyTexts } from '../texts/policy-texts.ts'
import { language, t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { Choice, Field } from './fields.tsx'
import { Form } from './form.tsx'
import { Panel } from './page.tsx'

/** What the API answers about a policy: what is in force, and in `own` what the account has itself. */
type PolicyAnswer = Record<string, unknown> & { own?: Record<string, unknown> }

const textsOf = () => policyTexts[language()]
const fieldsOf = ({ fields }: Policy): PolicyField[] => Object.values(fields)

/** One policy of an account, with what an operator may set in place of the settings. */
export function PolicyPanel({ policy, accountId }: { policy: Policy; accountId: string }) {
  const path = `/api/accounts/${accountId}${policy.path}`
  const answer = useApi<PolicyAnswer>(path)
  return (
    <Panel heading={textsOf().headings[policy.name] ?? policy.name}>
      <Answer of={answer}>{(data) => <PolicyForm policy={policy} path={path} answer={data} reload={answer.reload} />}</Answer>
    </Panel>
  )
}

interface PolicyFrame {
  policy: Policy
  path: string
  answer: PolicyAnswer
  reload(): Promise<void>
}

function PolicyForm({ policy, path, answer, reload }: PolicyFrame) {
  const fields = fieldsOf(policy)
  const own = answer.own ?? answer
  const [typed, setTyped] = useState<Record<string, string>>({})
  const textOf = (field: PolicyField): string => typed[field.name] ?? asText(field, own[apiNameOf(field)])
  const save = async (): Promise<void> => {
    const body = Object.fromEntries(fields.map((field) => [apiNameOf(field), asValue(field, textOf(field).trim())]))
    await call(path, { method: 'PATCH', body })
    await reload()
    setTyped({})
  }
  const isUnchanged = fields.every((field) => textOf(field) === asText(field, own[apiNameOf(field)]))
  return (
    <div class="body">
      <Form button={t.common.save} run={save} disabled={isUnchanged}>
        {fields.map((field) => (
          <PolicyInput
            key={field.name}
            field={field}
            text={textOf(field)}
            inForce={asText(field, inForceOf(answer, field))}
            onText={(text) => setTyped((before) => ({ ...before, [field.name]: text }))}
          />
        ))}
      </Form>
    </div>
  )
}

const yesOrNo = (flag: string): string => (flag === 'true' ? t.policies.yes : t.policies.no)

function PolicyInput({ field, text, inForce, onText }: { field: PolicyField; text: string; inForce: string; onText(text: string): void }) {
  const [label, hint = ''] = textsOf().fields[field.name as keyof ReturnType<typeof textsOf>['fields']] ?? [field.name]
  const common = { label, name: apiNameOf(field), value: text, onValue: onText }
  if (field.kind === 'flag') {
    const settings: [string, string][] =
      field.setting === null ? [] : [['', text === '' ? `${t.policies.asSettings}: ${yesOrNo(inForce)}` : t.policies.asSettings]]
    return <Choice {...common} options={[...settings, ['true', yesOrNo('true')], ['false', yesOrNo('false')]]} />
  }
  return <Field {...common} hint={`${hint} ${t.policies.empty(field.setting ?? '', inForce)}`} spellcheck={false} />
}

/** Of a quota the API says too how much of it is used. */
function inForceOf(answer: PolicyAnswer, field: PolicyField): unknown {
  const value = answer[apiNameOf(field)]
  return field.kind === 'limit' ? ((value as { limit: number | null }).limit ?? 'unlimited') : value
}

/** As the API has what TLS is required for a domain. */
interface DomainPolicy {
  domain: string
  policy: string
}

/** As files and commands have it too. No text at all stands for the setting. */
const emptyList = 'none'

const inMs = (seconds: number): number => seconds * 1000

/** A value of the API as one types it; nothing for none. */
function asText({ kind }: PolicyField, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (kind === 'duration') return value === 0 ? '0' : shortDuration(inMs(value as number))
  if (kind === 'durations') return (value as number[]).map((each) => shortDuration(inMs(each))).join(', ')
  if (kind === 'recipientTls') return (value as DomainPolicy[]).map(({ domain, policy }) => `${domain}=${policy}`).join(', ') || emptyList
  return String(value)
}

/** What somebody typed, as the API has it. What is no number goes as it is: the API says what it should be. */
function asValue(field: PolicyField, text: string): unknown {
  if (text === '') return null
  switch (field.kind) {
    case 'flag':
      return text === 'true'
    case 'duration':
      return secondsOf(field, text)
    case 'durations':
      return text.split(',').map((each) => secondsOf(field, each.trim()))
    case 'recipientTls':
      if (text === emptyList) return []
      return text.split(',').map((each) => {
        const [domain = '', policy = ''] = each.trim().split('=')
        return { domain, policy }
      })
    default:
      return /^\d+$/.test(text) ? Number(text) : text
  }
}

function secondsOf(field: PolicyField, text: string): number {
  const ms = msOf(text)
  if (ms !== null) return ms / 1000
  const message = t.policies.noDuration(text)
  throw new ApiError({ status: 422, name: 'validation_error', message, errors: [{ field: apiNameOf(field), message }] })
}
