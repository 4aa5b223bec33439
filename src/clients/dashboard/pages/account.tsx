import { accountPolicies } from '../../../senders/account/account-policy.ts'
import { useApi } from '../api/cache.ts'
import type { Account } from '../api/types.ts'
import { Page } from '../parts/page.tsx'
import { PolicyPanel } from '../parts/policy-form.tsx'
import type { PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

/** What applies to one account in place of the settings, for operators. */
export default function AccountPage({ params: { id = '' } }: PageProps) {
  const account = useApi<Account>(`/api/accounts/${id}`)
  const crumb = { href: '/people?view=accounts', text: t.accounts.heading }
  return (
    <Page heading={t.policies.heading(account.data?.name ?? id)} crumb={crumb} sub={t.policies.sub} narrow>
      {accountPolicies.map((policy) => (
        <PolicyPanel key={policy.name} policy={policy} accountId={id} />
      ))}
    </Page>
  )
}
