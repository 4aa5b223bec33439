import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { actIn, actingIn, call, session } from '../api/client.ts'
import type { Account, List, Setting } from '../api/types.ts'
import { number, shortDate } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/fields.tsx'
import { ListPage, useList } from '../parts/list-page.tsx'
import type { Column } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'

type Asked = { what: 'plan' | 'suspend' | 'resume' | 'remove'; account: Account } | null

/** Every account of the server, for operators. */
export function Accounts({ tabs, query }: { tabs: ComponentChildren; query: URLSearchParams }) {
  const [asked, setAsked] = useState<Asked>(null)
  const close = (): void => setAsked(null)
  return (
    <ListPage
      title={t.nav.people}
      heading={t.accounts.heading}
      name={t.people.views['accounts'] ?? ''}
      top={tabs}
      list={useList<Account>('/api/accounts', query)}
      query={query}
      columns={columnsWith(setAsked)}
      none={t.accounts.none}
      add={{ text: t.accounts.create, dialog: (done) => <Create onClose={done} /> }}
    >
      {asked?.what === 'plan' && <ChangePlan account={asked.account} onClose={close} />}
      {(asked?.what === 'suspend' || asked?.what === 'resume') && <Suspend account={asked.account} onClose={close} />}
      {asked?.what === 'remove' && <Remove account={asked.account} onClose={close} />}
    </ListPage>
  )
}

const currentId = (): string => actingIn.value ?? session.value?.user.account_id ?? ''
const isOwnOrCurrent = (id: string): boolean => id === currentId() || id === session.value?.user.account_id

const columnsWith = (onAsk: (asked: Asked) => void): Column<Account>[] => [
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
  {
    head: t.common.status,
    cell: ({ status }) => <State of={status === 'active' ? 'active' : 'held'} word={t.accounts.states[status] ?? status} />,
  },
  { head: t.common.since, kind: 'quiet', cell: ({ created_at: at }) => shortDate(at) },
  {
    head: '',
    cell: (account) => {
      const actions = [
        'plan',
        account.status === 'active' ? 'suspend' : 'resume',
        ...(isOwnOrCurrent(account.id) ? [] : ['remove']),
      ] as const
      return (
        <div class="acts end">
          {account.id !== currentId() && (
            <button class="btn small" type="button" onClick={() => actIn(account.id)}>
              {t.common.open}
            </button>
          )}
          <Link class="btn small" href={`/accounts/${account.id}`}>
            {t.accounts.policies}
          </Link>
          {actions.map((what) => (
            <button key={what} class="btn small" type="button" onClick={() => onAsk({ what, account } as Asked)}>
              {t.accounts.actions[what]}
            </button>
          ))}
        </div>
      )
    },
  },
]

const changed = (): void => invalidate('/api/accounts')

/** The plans that the server knows, with their requests per minute. */
function usePlans(): [string, string][] {
  const settings = useApi<List<Setting>>('/api/settings')
  const plans = settings.data?.data.find(({ name }) => name === 'plans')?.value
  return Object.entries((plans ?? {}) as Record<string, number>).map(([plan, limit]) => [plan, t.accounts.planWith(plan, number(limit))])
}

function Create({ onClose }: { onClose(): void }) {
  const plans = usePlans()
  const [name, setName] = useState('')
  const [plan, setPlan] = useState('')
  const create = async (): Promise<void> => {
    await call('/api/accounts', { method: 'POST', body: { name: name.trim(), ...(plan === '' ? {} : { plan }) } })
    changed()
  }
  return (
    <Dialog main="name" heading={t.accounts.create} button={t.accounts.create} run={create} onClose={onClose} disabled={name.trim() === ''}>
      <Field name="name" label={t.common.name} value={name} onValue={setName} maxLength={100} autocomplete="off" />
      <Choice name="plan" label={t.accounts.plan} value={plan} options={[['', t.accounts.usualPlan], ...plans]} onValue={setPlan} />
    </Dialog>
  )
}

const change = async ({ id }: Account, changes: Partial<Pick<Account, 'plan' | 'status'>>): Promise<void> => {
  await call(`/api/accounts/${id}`, { method: 'PATCH', body: changes })
  changed()
}

function ChangePlan({ account, onClose }: { account: Account; onClose(): void }) {
  const plans = usePlans()
  const [plan, setPlan] = useState(account.plan)
  const title = t.accounts.planOf(account.name)
  return (
    <Dialog heading={title} button={t.accounts.actions['plan'] ?? ''} run={() => change(account, { plan })} onClose={onClose}>
      <Choice
        name="plan"
        label={t.accounts.plan}
        value={plan}
        options={plans.some(([known]) => known === account.plan) ? plans : [[account.plan, account.plan], ...plans]}
        onValue={setPlan}
      />
    </Dialog>
  )
}

function Suspend({ account, onClose }: { account: Account; onClose(): void }) {
  const isActive = account.status === 'active'
  const button = t.accounts.actions[isActive ? 'suspend' : 'resume'] ?? ''
  const run = (): Promise<void> => change(account, { status: isActive ? 'suspended' : 'active' })
  return (
    <Dialog
      heading={isActive ? t.accounts.suspendOf(account.name) : t.accounts.resumeOf(account.name)}
      button={button}
      run={run}
      onClose={onClose}
    >
      <p>{isActive ? t.accounts.suspendText : t.accounts.resumeText}</p>
    </Dialog>
  )
}

function Remove({ account, onClose }: { account: Account; onClose(): void }) {
  const remove = async (): Promise<void> => {
    await call(`/api/accounts/${account.id}`, { method: 'DELETE' })
    changed()
  }
  return (
    <Dialog
      heading={t.common.deleteOf(account.name)}
      button={t.accounts.actions['remove'] ?? ''}
      run={remove}
      onClose={onClose}
      typed={account.name}
    >
      <p>{t.accounts.removeText}</p>
    </Dialog>
  )
}
