import type { ComponentChildren } from 'preact'
import { invalidate, useApi } from '../api/cache.ts'
import { actIn, actingIn, call, session } from '../api/client.ts'
import type { Account, List, Setting } from '../api/types.ts'
import { number, shortDate } from '../format.ts'
import { Button, ButtonLink, AskButton } from '../parts/button.tsx'
import { Dialog, ConfirmButton } from '../parts/dialog.tsx'
import { Choice, Field, useFields } from '../parts/fields.tsx'
import { ListPage, useList } from '../parts/list-page.tsx'
import type { Column } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { t } from '../texts/texts.ts'

/** Every account of the server, for operators. */
export function Accounts({ tabs, query }: { tabs: ComponentChildren; query: URLSearchParams }) {
  return (
    <ListPage
      title={t.nav.people}
      heading={t.accounts.heading}
      name={t.people.views['accounts'] ?? ''}
      top={tabs}
      list={useList<Account>('/api/accounts', query)}
      query={query}
      columns={columns()}
      none={t.accounts.none}
      add={{ text: t.accounts.create, dialog: (done) => <Create onClose={done} /> }}
    />
  )
}

const currentId = (): string => actingIn.value ?? session.value?.user.account_id ?? ''
const isOwnOrCurrent = (id: string): boolean => id === currentId() || id === session.value?.user.account_id

const columns = (): Column<Account>[] => [
  {
    head: t.common.name,
    kind: 'title',
    cell: ({ id, name }) => (
      <>
        {name} {id === currentId() && <span class="tag">{t.accounts.here}</span>}
      </>
    ),
  },
  { head: t.accounts.plan, cell: ({ plan }) => plan },
  { head: t.accounts.limit, kind: 'number', cell: ({ rate_limit: { limit } }) => number(limit) },
  { head: t.common.status, cell: ({ status }) => <State of={status} /> },
  { head: t.common.since, kind: 'quiet', cell: ({ created_at: at }) => shortDate(at) },
  { head: '', cell: (account) => <Actions account={account} /> },
]

function Actions({ account }: { account: Account }) {
  const { id, name, status } = account
  const isActive = status === 'active'
  return (
    <div class="acts end">
      {id !== currentId() && <Button look="small" text={t.common.open} onClick={() => actIn(id)} />}
      <ButtonLink look="small" text={t.accounts.policies} href={`/accounts/${id}`} />
      <AskButton look="small" text={t.accounts.plan} dialog={(close) => <ChangePlan account={account} onClose={close} />} />
      <ConfirmButton
        look="small"
        text={isActive ? t.accounts.suspend : t.accounts.resume}
        heading={isActive ? t.accounts.suspendOf(name) : t.accounts.resumeOf(name)}
        says={isActive ? t.accounts.suspendText : t.accounts.resumeText}
        run={() => change(id, { status: isActive ? 'suspended' : 'active' })}
      />
      {!isOwnOrCurrent(id) && (
        <ConfirmButton
          look="small"
          text={t.common.delete}
          heading={t.common.deleteOf(name)}
          says={t.accounts.removeText}
          typed={name}
          run={() => call(`/api/accounts/${id}`, { method: 'DELETE' }).then(changed)}
        />
      )}
    </div>
  )
}

const changed = (): void => invalidate('/api/accounts')

/** The plans that the server knows, with their requests per minute. */
function usePlans(): [string, string][] {
  const settings = useApi<List<Setting>>('/api/settings')
  const plans = settings.data?.data.find(({ name }) => name === 'plans')?.value
  return Object.entries((plans ?? {}) as Record<string, number>).map(([plan, limit]) => [plan, t.accounts.planWith(plan, number(limit))])
}

function Create({ onClose }: { onClose(): void }) {
  const plans = usePlans()
  const { values, field } = useFields({ name: '', plan: '' })
  const create = async (): Promise<void> => {
    const { name, plan } = values
    await call('/api/accounts', { method: 'POST', body: { name: name.trim(), ...(plan === '' ? {} : { plan }) } })
    changed()
  }
  const title = t.accounts.create
  return (
    <Dialog main="name" heading={title} button={title} run={create} onClose={onClose} disabled={values.name.trim() === ''}>
      <Field {...field('name')} label={t.common.name} maxLength={100} />
      <Choice {...field('plan')} label={t.accounts.plan} options={[['', t.accounts.usualPlan], ...plans]} />
    </Dialog>
  )
}

const change = (id: string, changes: Partial<Pick<Account, 'plan' | 'status'>>): Promise<void> =>
  call(`/api/accounts/${id}`, { method: 'PATCH', body: changes }).then(changed)

function ChangePlan({ account: { id, name, plan }, onClose }: { account: Account; onClose(): void }) {
  const plans = usePlans()
  const { values, field } = useFields({ plan })
  const options = plans.some(([known]) => known === plan) ? plans : [[plan, plan] satisfies [string, string], ...plans]
  return (
    <Dialog heading={t.accounts.planOf(name)} button={t.accounts.plan} run={() => change(id, values)} onClose={onClose}>
      <Choice {...field('plan')} label={t.accounts.plan} options={options} />
    </Dialog>
  )
}
