import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { invalidate, useRows } from '../api/cache.ts'
import { actingIn, call, session } from '../api/client.ts'
import type { Account, InvitedUser, User } from '../api/types.ts'
import { dayAndTime } from '../format.ts'
import { AskButton } from '../parts/button.tsx'
import { Dialog, ConfirmButton } from '../parts/dialog.tsx'
import { Choice, Field, Switch, useFields, optionsOf } from '../parts/fields.tsx'
import { Filters, type Filter } from '../parts/filters.tsx'
import { ListPage, useList } from '../parts/list-page.tsx'
import type { Column } from '../parts/rows.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { isOperator, isOwner } from '../rights.ts'
import { t } from '../texts/texts.ts'

const allAccounts = 'all'

/** The users of the account, and for operators those of every account. */
export function Users({ tabs, query }: { tabs: ComponentChildren; query: URLSearchParams }) {
  const own = actingIn.value ?? session.value?.user.account_id ?? ''
  const account = query.get('account') ?? own
  const isOfAll = account === allAccounts
  const users = useList<User>(isOfAll ? '/api/users' : `/api/users?account_id=${account}`, query)
  const accounts = useRows<Account>(isOperator() ? '/api/accounts' : null)
  const [invited, setInvited] = useState<InvitedUser | null>(null)
  const done = (user: InvitedUser | null): void => {
    setInvited(user)
    invalidate('/api/users')
  }
  const nameOf = (id: string): string => accounts.find((known) => known.id === id)?.name ?? id
  const options: [string, string][] = [[allAccounts, t.people.allAccounts], ...optionsOf(accounts)]
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
      columns={columnsWith(done, isOfAll ? nameOf : null)}
      none={t.people.noUser}
      add={{ text: t.people.invite, dialog: (shut) => <Invite accountId={isOfAll ? own : account} onInvited={done} onClose={shut} /> }}
    />
  )
}

/** Only owners change owners, and only operators change operators; the server refuses others. */
const mayManage = ({ role, operator }: User): boolean => isOperator() || (!operator && (role !== 'owner' || isOwner()))

const columnsWith = (onDone: (user: InvitedUser | null) => void, accountName: ((id: string) => string) | null): Column<User>[] => [
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
  { head: t.common.status, cell: ({ status }) => <State of={status} /> },
  {
    head: t.secondFactor.heading,
    cell: ({ second_factor: isOn }) => (isOn ? t.people.hasSecondFactor : <span class="muted">{t.people.noSecondFactor}</span>),
  },
  { head: t.people.lastLogin, kind: 'quiet', cell: ({ last_login_at: at }) => <Age of={at} /> },
  { head: '', cell: (user) => mayManage(user) && user.id !== session.value?.user.id && <Actions user={user} onDone={onDone} /> },
]

function Actions({ user, onDone }: { user: User; onDone(invited: InvitedUser | null): void }) {
  const path = `/api/users/${user.id}`
  return (
    <div class="acts end">
      <AskButton
        look="small"
        text={t.people.change}
        dialog={(close) => <Change user={user} path={path} onDone={() => onDone(null)} onClose={close} />}
      />
      <ConfirmButton
        look="small"
        text={t.people.renew}
        heading={t.people.linkFor(user.email)}
        says={user.status === 'active' ? t.people.renewActive : t.people.renewInvited}
        run={() => call<InvitedUser>(`${path}/invitation`, { method: 'POST' }).then(onDone)}
      />
      <ConfirmButton
        look="small"
        text={t.common.remove}
        heading={t.common.removeOf(user.email)}
        says={t.people.removeText}
        run={() => call(path, { method: 'DELETE' }).then(() => onDone(null))}
      />
    </div>
  )
}

const Invitation = ({ user, onPassedOn }: { user: InvitedUser; onPassedOn(): void }) => (
  <ShownOnce name={t.people.link} value={user.invitation_url} button={t.people.passedOn} onKept={onPassedOn}>
    <b>{t.people.linkFor(user.email)}</b> {t.people.passItOn(dayAndTime(user.invitation_expires_at))}
  </ShownOnce>
)

const roleOptions = (): [string, string][] =>
  Object.keys(t.roles)
    .toReversed()
    .filter((role) => role !== 'owner' || isOwner() || isOperator())
    .map((role) => [role, t.people.roleWith(t.roles[role] ?? role, t.people.mayDo[role] ?? '')])

function Invite({ accountId, onInvited, onClose }: { accountId: string; onInvited(user: InvitedUser): void; onClose(): void }) {
  const { values, field } = useFields({ email: '', role: 'member', operator: false })
  const invite = async (): Promise<void> =>
    onInvited(await call<InvitedUser>('/api/users', { method: 'POST', body: { ...values, account_id: accountId } }))
  return (
    <Dialog
      main="email"
      heading={t.people.invite}
      button={t.people.invite}
      run={invite}
      onClose={onClose}
      disabled={values.email.trim() === ''}
    >
      <p>{t.people.inviteText}</p>
      <Field {...field('email')} label={t.login.email} type="email" />
      <Choice {...field('role')} label={t.people.role} options={roleOptions()} />
      {isOperator() && <Switch {...field('operator')} label={t.people.operatorLabel} />}
    </Dialog>
  )
}

function Change({ user, path, onDone, onClose }: { user: User; path: string; onDone(): void; onClose(): void }) {
  const { values, field } = useFields<{ role: string; operator: boolean }>({ role: user.role, operator: user.operator })
  const change = (): Promise<void> => call(path, { method: 'PATCH', body: isOperator() ? values : { role: values.role } }).then(onDone)
  return (
    <Dialog heading={t.people.changeOf(user.email)} button={t.people.change} run={change} onClose={onClose}>
      <p>{t.people.changeText}</p>
      <Choice {...field('role')} label={t.people.role} options={roleOptions()} />
      {isOperator() && <Switch {...field('operator')} label={t.people.operatorLabel} />}
    </Dialog>
  )
}
