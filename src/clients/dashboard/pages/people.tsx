import { Tabs } from '../parts/controls.tsx'
import { isOperator } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Accounts } from './people-accounts.tsx'
import { Audit } from './people-audit.tsx'
import { Users } from './people-users.tsx'

/** Who may do what, and who did: one view of it at a time, named in the address. */
export default function People({ query }: PageProps) {
  const views = isOperator() ? ['users', 'accounts', 'audit'] : ['users', 'audit']
  const view = views.find((known) => known === query.get('view')) ?? 'users'
  const tabs = (
    <Tabs
      name={t.nav.people}
      options={views.map((each) => [each, t.people.views[each] ?? each])}
      current={view}
      onChoice={(next) => navigate(next === 'users' ? '/people' : `/people?view=${next}`, { replace: true })}
    />
  )
  if (view === 'accounts') return <Accounts tabs={tabs} query={query} />
  if (view === 'audit') return <Audit tabs={tabs} query={query} />
  return <Users tabs={tabs} query={query} />
}
