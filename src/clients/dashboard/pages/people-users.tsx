import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { invalidate, useAll } from '../api/cache.ts'
import { actingIn, call, session } from '../api/client.ts'
import type { Account, InvitedUser, User } from '../api/types.ts'
import { dayAndTime } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Switch } from '../parts/fields.tsx'
import { Filters, type Filter } from '../parts/filters.tsx'
import { ListPage, useList } from '../parts/list-page.tsx'
import type { Column } from '../parts/rows.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { isOperator, isOwner } from '../rights.ts'
import { t } from '../texts/texts.ts'

type Asked = { what: 'change' | 'renew' | 'remove'; user: User } | null

const allAccounts = 'all'

/** The users of the account, and for operators those of every account. */
export function Users({ tabs, query }: { tabs: ComponentChildren; query: URLSearchParams }) {
  const own = actingIn.value ?? session.value?.user.account_id ?? ''
  const account = query.get('account') ?? own
  const isOfAll = account === allAccounts
  const users = useList<User>(isOfAll ? '/api/users' : `/api/users?account_id=${account}`, query)
  const accounts = useAll<Account>(isOperator() ? '/api/accounts' : null).data?.data ?? []
  const [asked, setAsked] = useState<Asked>(null)
  const [invited, setInvited] = useState<InvitedUser | null>(null)
  const close = (): void => setAsked(null)
  const done = (user: InvitedUser | null): void => {
    setInvited(user)
    invalidate('/api/users')
  }
  const nameOf = (id: string): string => accounts.find((known) => known.id === id)?.name ?? id
  const options: [string, string][] = [[allAccounts, t.people.allAccounts], ...accounts.map(({ id, name }): [string, string] => [id, name])]
  const filter: Filter = { name: 'account', label: t.nav.account, kind: options, usual: own }
  return (
    <ListPage
      title={t.nav.people}
      heading={t.people.views.users ?? t.nav.people}
      above={invited && <Invitation user={invited} onPassedOn={() => setInvited(null)} />}
      name={t.people.views['users'] ?? ''}
      top={
        <>
          {tabs}
          {accounts.length > 1 && <Filters filters={[filter]} query={query} />}
        </>
      }
      list={users}
      query={query}
      columns={columnsWith(setAsked, isOfAll ? nameOf : null)}
      none={t.people.noUser}
      add={{ text: t.people.invite, dialog: (shut) => <Invite accountId={isOfAll ? own : account} onInvited={done} onClose={shut} /> }}
    >
      {asked?.what === 'change' && <Change user={asked.user} onDone={() => done(null)} onClose={close} />}
      {asked?.what === 'renew' && <Renew user={asked.user} onInvited={done} onClose={close} />}
      {asked?.what === 'remove' && <Remove user={asked.user} onDone={() => done(null)} onClose={close} />}
    </ListPage>
  )
}

/** Only owners change owners, and only operators change operators; the server refuses others. */
const mayManage = ({ role, operator }: User): boolean => isOperator() || (!operator && (role !== 'owner' || isOwner()))

const columnsWith = (onAsk: (asked: Asked) => void, accountName: ((id: string) => string) | null): Column<User>[] => [
  {
    head: t.people.user,
    kind: 'title',
    cell: ({ email, id }) => (
      <>
        {email} {id === session.value?.user.id && <span class="tag">{t.people.you}</span>}
      </>
    ),
  },
  ...(accountName ? [{ head: t.nav.account, cell: ({ account_id: id }: User) => accountName(id) }] : []),
  {
    head: t.people.role,
    cell: ({ role, operator }) => (operator ? t.people.andOperator(t.roles[role] ?? role) : (t.roles[role] ?? role)),
  },
  {
    head: t.common.status,
    cell: ({ status }) => <State of={status === 'active' ? 'enabled' : 'pending'} word={t.status[status] ?? status} />,
  },
  {
    head: t.secondFactor.heading,
    cell: ({ second_factor: isOn }) => (isOn ? t.people.hasSecondFactor : <span class="muted">{t.people.noSecondFactor}</span>),
  },
  { head: t.people.lastLogin, kind: 'quiet', cell: ({ last_login_at: at }) => <Age of={at} /> },
  {
    head: '',
    cell: (user) =>
      mayManage(user) &&
      user.id !== session.value?.user.id && (
        <div class="acts end">
          {(['change', 'renew', 'remove'] as const).map((what) => (
            <button key={what} class="btn small" type="button" onClick={() => onAsk({ what, user })}>
              {t.people.actions[what]}
            </button>
          ))}
        </div>
      ),
  },
]

const Invitation = ({ user, onPassedOn }: { user: InvitedUser; onPassedOn(): void }) => (
  <ShownOnce name={t.people.link} value={user.invitation_url} button={t.people.passedOn} onKept={onPassedOn}>
    <b>{t.people.linkFor(user.email)}</b> {t.people.passItOn(dayAndTime(user.invitation_expires_at))}
  </ShownOnce>
)

const roleOptions = (): [string, string][] =>
  ['viewer', 'member', 'admin', 'owner']
    .filter((role) => role !== 'owner' || isOwner() || isOperator())
    .map((role) => [role, t.people.roleWith(t.roles[role] ?? role, t.people.mayDo[role] ?? '')])

function Invite({ accountId, onInvited, onClose }: { accountId: string; onInvited(user: InvitedUser): void; onClose(): void }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState('member')
  const [operator, setOperator] = useState(false)
  const invite = async (): Promise<void> =>
    onInvited(await call<InvitedUser>('/api/users', { method: 'POST', body: { email, role, operator, account_id: accountId } }))
  return (
    <Dialog main="email" heading={t.people.invite} button={t.people.invite} run={invite} onClose={onClose} disabled={email.trim() === ''}>
      <p>{t.people.inviteText}</p>
      <Field name="email" label={t.login.email} type="email" autocomplete="off" value={email} onValue={setEmail} />
      <Choice name="role" label={t.people.role} value={role} options={roleOptions()} onValue={setRole} />
      {isOperator() && <Switch name="operator" label={t.people.operatorLabel} on={operator} onChange={setOperator} />}
    </Dialog>
  )
}

function Change({ user, onDone, onClose }: { user: User; onDone(): void; onClose(): void }) {
  const [role, setRole] = useState<string>(user.role)
  const [operator, setOperator] = useState(user.operator)
  const change = async (): Promise<void> => {
    await call(`/api/users/${user.id}`, { method: 'PATCH', body: { role, ...(isOperator() ? { operator } : {}) } })
    onDone()
  }
  return (
    <Dialog heading={t.people.changeOf(user.email)} button={t.people.actions['change'] ?? ''} run={change} onClose={onClose}>
      <p>{t.people.changeText}</p>
      <Choice name="role" label={t.people.role} value={role} options={roleOptions()} onValue={setRole} />
      {isOperator() && <Switch name="operator" label={t.people.operatorLabel} on={operator} onChange={setOperator} />}
    </Dialog>
  )
}

function Renew({ user, onInvited, onClose }: { user: User; onInvited(user: InvitedUser): void; onClose(): void }) {
  const renew = async (): Promise<void> => onInvited(await call<InvitedUser>(`/api/users/${user.id}/invitation`, { method: 'POST' }))
  return (
    <Dialog heading={t.people.linkFor(user.email)} button={t.people.actions['renew'] ?? ''} run={renew} onClose={onClose}>
      <p>{user.status === 'active' ? t.people.renewActive : t.people.renewInvited}</p>
    </Dialog>
  )
}

function Remove({ user, onDone, onClose }: { user: User; onDone(): void; onClose(): void }) {
  const remove = async (): Promise<void> => {
    await call(`/api/users/${user.id}`, { method: 'DELETE' })
    onDone()
  }
  return (
    <Dialog heading={t.common.removeOf(user.email)} button={t.common.remove} run={remove} onClose={onClose}>
      <p>{t.people.removeText}</p>
    </Dialog>
  )
}
