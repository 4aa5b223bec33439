import type { ComponentChildren } from 'preact'
import { useRows } from '../api/cache.ts'
import type { Account, AuditEntry, User } from '../api/types.ts'
import { fullTime } from '../format.ts'
import { optionsOf } from '../parts/fields.tsx'
import type { Filter } from '../parts/filters.tsx'
import { ListPage, useList } from '../parts/list-page.tsx'
import type { Column } from '../parts/rows.tsx'
import { Age } from '../parts/time.tsx'
import { isOperator } from '../rights.ts'
import { t } from '../texts/texts.ts'

/** Every change, and who made it. */
export function Audit({ tabs, query }: { tabs: ComponentChildren; query: URLSearchParams }) {
  const filters = useFilters(query)
  return (
    <ListPage
      title={t.nav.people}
      heading={t.audit.heading}
      sub={t.audit.sub}
      name={t.people.views['audit'] ?? ''}
      top={tabs}
      list={useList<AuditEntry>('/api/audit', query, filters)}
      query={query}
      filters={filters}
      lines={10}
      columns={columns()}
      none={t.audit.none}
      noMatch={t.audit.noMatch}
    />
  )
}

function useFilters(query: URLSearchParams): Filter[] {
  const users = useRows<User>('/api/users')
  const accounts = useRows<Account>(isOperator() ? '/api/accounts' : null)
  const actors: [string, string][] = [
    ['', t.audit.anybody],
    ...users.map(({ id, email }): [string, string] => [id, email]),
    ['command', t.audit.actors['command'] ?? ''],
    ['server', t.audit.actors['server'] ?? ''],
  ]
  const names: [string, string][] = [['', t.people.allAccounts], ...optionsOf(accounts)]
  return [
    { name: 'actor', label: t.audit.who, kind: actors },
    { name: 'action', label: t.audit.action, hint: t.audit.actionHint, kind: 'search' },
    ...(query.has('request_id') ? [{ name: 'request_id', label: t.common.requestId, kind: 'search' as const }] : []),
    { name: 'since', label: t.emails.since, kind: 'day' },
    { name: 'until', label: t.common.until, kind: 'day' },
    ...(isOperator() ? [{ name: 'account_id', label: t.nav.account, kind: names }] : []),
  ]
}

const columns = (): Column<AuditEntry>[] => [
  {
    head: t.audit.what,
    kind: 'title',
    cell: ({ action, fields }) => (
      <>
        <code>{action}</code>
        {fields.length > 0 && <span class="muted"> {fields.join(', ')}</span>}
      </>
    ),
  },
  {
    head: t.audit.who,
    cell: ({ actor: { type, name } }) => (type === 'user' ? name : t.audit.byOther(t.audit.actors[type] ?? type, name)),
  },
  { head: t.audit.object, kind: 'quiet', cell: ({ object_id: id }) => (id === null ? '—' : <code>{id}</code>) },
  { head: t.common.address, kind: 'quiet', cell: ({ address }) => (address === null ? '—' : <code>{address}</code>) },
  {
    head: t.common.when,
    kind: 'quiet',
    cell: ({ created_at: at }) => (
      <span title={fullTime(at)}>
        <Age of={at} />
      </span>
    ),
  },
]
