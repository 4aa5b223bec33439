import type { ComponentChildren } from 'preact'
import { useApi } from './api/cache.ts'
import { basePath, logOut, offline, session } from './api/client.ts'
import type { Domain, List } from './api/types.ts'
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
  const server: Entry[] = [
    { href: '/queue', icon: 'queue', text: t.nav.queue },
    { href: '/health', icon: 'heart', text: t.nav.health },
    { href: '/settings', icon: 'gear', text: t.nav.settings },
  ]
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
      {isOperator() && <Group heading={t.nav.server} entries={server} />}
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

function Who() {
  const user = session.value?.user
  if (!user) return null
  return (
    <div class="who">
      <Link class="cut" href="/me" aria-current={isCurrent('/me') ? 'page' : undefined} onClick={closeMenu}>
        <b>{user.email}</b>
      </Link>
      <span class="muted">{t.roles[user.role] ?? user.role}</span>
      <a href={`${basePath}/docs`}>{t.nav.reference}</a>
      <button class="btn plain small" type="button" onClick={() => void logOut()}>
        {t.nav.logOut}
      </button>
    </div>
  )
}
