import type { ComponentChildren } from 'preact'
import { useApi } from './api/cache.ts'
import { actIn, actingIn, basePath, logOut, offline, session } from './api/client.ts'
import type { Account, Domain, List } from './api/types.ts'
import { Icon, Mark, type IconName } from './parts/icon.tsx'
import { isOperator, mayChange } from './rights.ts'
import { Link, place } from './router.tsx'
import { t } from './texts/texts.ts'

interface Entry {
  href: string
  icon: IconName
  text: string
  count?: number
}

/** The sidebar, which is a menu on a phone, around the page. */
export function Frame({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#main">
        {t.skip}
      </a>
      <div class="frame">
        <aside class="side" aria-label={t.nav.main}>
          <div>
            <Brand />
            <Navigation name={t.nav.main} />
            <Who />
          </div>
        </aside>
        <header class="top">
          <Brand />
          <button class="btn icon" type="button" popovertarget="menu" aria-label={t.nav.menu}>
            <Icon name="menu" />
          </button>
        </header>
        <div class="menu" id="menu" popover="auto" role="dialog" aria-label={t.nav.menu}>
          <Navigation name={t.nav.menu} />
          <Who />
        </div>
        <div>
          {offline.value && (
            <p class="offline" role="status">
              {t.offline}
            </p>
          )}
          {actingIn.value !== null && <OtherAccount id={actingIn.value} />}
          {children}
        </div>
      </div>
    </>
  )
}

const Brand = () => (
  <Link class="brand" href="/">
    <Mark />
    Sterna
  </Link>
)

function Navigation({ name }: { name: string }) {
  const domains = useApi<List<Domain>>('/api/domains?limit=100')
  const toLookAt = domains.data?.data.filter(({ status }) => status !== 'verified').length ?? 0
  const sending: Entry[] = [
    { href: '/domains', icon: 'globe', text: t.nav.domains, count: toLookAt },
    { href: '/templates', icon: 'tpl', text: t.nav.templates },
    { href: '/suppressions', icon: 'ban', text: t.nav.suppressions },
  ]
  const keys: Entry[] = mayChange() ? [{ href: '/keys', icon: 'key', text: t.nav.keys }] : []
  const build: Entry[] = [...keys, { href: '/webhooks', icon: 'hook', text: t.nav.webhooks }]
  const people: Entry = { href: '/people', icon: 'people', text: t.nav.people }
  const server: Entry[] = isOperator()
    ? [
        { href: '/queue', icon: 'queue', text: t.nav.queue },
        { href: '/health', icon: 'heart', text: t.nav.health },
        people,
        { href: '/settings', icon: 'gear', text: t.nav.settings },
      ]
    : [people]
  return (
    <nav class="nav" aria-label={name}>
      <Group
        entries={[
          { href: '/', icon: 'home', text: t.nav.overview },
          { href: '/emails', icon: 'mail', text: t.nav.emails },
          { href: '/analytics', icon: 'chart', text: t.nav.analytics },
        ]}
      />
      <Group heading={t.nav.sending} entries={sending} />
      <Group heading={t.nav.build} entries={build} />
      {mayChange() && <Group heading={t.nav.server} entries={server} />}
    </nav>
  )
}

const isCurrent = (href: string): boolean => {
  const { path } = place.value
  return href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`)
}

function Group({ heading, entries }: { heading?: string; entries: Entry[] }) {
  return (
    <div>
      {heading && <h2>{heading}</h2>}
      <ul>
        {entries.map(({ href, icon, text, count = 0 }) => (
          <li key={href}>
            <Link href={href} aria-current={isCurrent(href) ? 'page' : undefined} onClick={closeMenu}>
              <Icon name={icon} />
              {text}
              {count > 0 && (
                <span class="count wait">
                  {count}
                  <span class="hidden"> {t.nav.toLookAt()}</span>
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}

const closeMenu = (): void => document.getElementById('menu')?.hidePopover()

/** Says whose account is shown where it is not the user's own. */
function OtherAccount({ id }: { id: string }) {
  const account = useApi<Account>('/api/account')
  return (
    <div class="offline" role="status">
      {t.nav.actingIn(account.data?.name ?? id)}{' '}
      <button class="btn small" type="button" onClick={() => actIn(null)}>
        {t.nav.backToOwn}
      </button>
    </div>
  )
}

/** In whose account an operator acts. */
function AccountChoice({ own }: { own: string }) {
  const accounts = useApi<List<Account>>('/api/accounts?limit=100')
  if ((accounts.data?.data.length ?? 0) < 2) return null
  return (
    <select
      aria-label={t.nav.account}
      value={actingIn.value ?? own}
      onChange={({ currentTarget: { value } }) => actIn(value === own ? null : value)}
    >
      {accounts.data?.data.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

function Who() {
  const user = session.value?.user
  if (!user) return null
  return (
    <div class="who">
      <Link class="cut" href="/me" aria-current={isCurrent('/me') ? 'page' : undefined} onClick={closeMenu}>
        <b>{user.email}</b>
      </Link>
      <span class="muted">{t.roles[user.role] ?? user.role}</span>
      {user.operator && <AccountChoice own={user.account_id} />}
      <a href={`${basePath}/docs`}>{t.nav.reference}</a>
      <button class="btn plain small" type="button" onClick={() => void logOut()}>
        {t.nav.logOut}
      </button>
    </div>
  )
}
