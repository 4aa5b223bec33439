import type { ComponentChildren } from 'preact'
import { useApi, useRows } from './api/cache.ts'
import { actIn, actingIn, basePath, logOut, offline, session } from './api/client.ts'
import type { Account, Domain, ServerAddress } from './api/types.ts'
import { Find } from './find.tsx'
import { dayAndTime } from './format.ts'
import { overlay } from './keyboard.ts'
import { Button } from './parts/button.tsx'
import { Icon, Mark } from './parts/icon.tsx'
import { Link, place } from './router.tsx'
import { sectionGroups, type Section } from './sections.ts'
import { ShortcutHelp } from './shortcut-help.tsx'
import { t } from './texts/texts.ts'

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
            <FindButton />
            <Navigation name={t.nav.main} />
            <Who />
          </div>
        </aside>
        <header class="top">
          <Brand />
          <button class="btn icon" type="button" aria-label={t.find.heading} onClick={() => (overlay.value = 'find')}>
            <Icon name="find" />
          </button>
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
          <SandboxLine />
          <RestraintLine />
          {actingIn.value !== null && <OtherAccount id={actingIn.value} />}
          {children}
        </div>
      </div>
      {overlay.value === 'find' && <Find />}
      {overlay.value === 'help' && <ShortcutHelp />}
    </>
  )
}

const Brand = () => (
  <Link class="brand" href="/">
    <Mark />
    Sterna
  </Link>
)

const FindButton = () => (
  <button class="btn find" type="button" onClick={() => (overlay.value = 'find')}>
    <Icon name="find" />
    {t.find.heading}
    <kbd>/</kbd>
  </button>
)

/** Says on every page of such a server that it lets no mail out. */
function SandboxLine() {
  if (!useIsSandbox()) return null
  return (
    <p class="offline quiet">
      {t.sandbox.wholeServer} <Link href="/sandbox">{t.nav.sandbox}</Link>
    </p>
  )
}

/** Says on every page of an account that is suspended or slowed that it is, and why. */
function RestraintLine() {
  const account = useApi<Account>('/api/account', { everyMs: 60_000 })
  if (!account.data) return null
  const { status, slowed_until: slowedUntil, harm } = account.data
  if (status !== 'suspended' && slowedUntil === null) return null
  return (
    <p class="offline" role="status">
      {slowedUntil === null ? t.suspended : t.slowed(dayAndTime(slowedUntil))} {harm}
    </p>
  )
}

const useIsSandbox = (): boolean => useApi<ServerAddress>('/api/server').data?.mode === 'sandbox'

function Navigation({ name }: { name: string }) {
  const isSandbox = useIsSandbox()
  const toLookAt = useRows<Domain>('/api/domains').filter(({ status }) => status !== 'verified').length
  return (
    <nav class="nav" aria-label={name}>
      {sectionGroups().map(({ heading, sections }) => (
        <div key={heading}>
          {heading && <h2>{heading}</h2>}
          <ul>
            {sections.map((section) => (
              <li key={section.href}>
                <Entry {...section} href={isSandbox && section.href === '/emails' ? '/sandbox' : section.href}>
                  {section.href === '/domains' && toLookAt > 0 && <Count of={toLookAt} />}
                </Entry>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

const isCurrent = (href: string): boolean => {
  const { path } = place.value
  return href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`)
}

const Entry = ({ href, icon, text, children }: Section & { children: ComponentChildren }) => (
  <Link href={href} aria-current={isCurrent(href) ? 'page' : undefined} onClick={closeMenu}>
    <Icon name={icon} />
    {text}
    {children}
  </Link>
)

/** How many need a look. */
const Count = ({ of: count }: { of: number }) => (
  <span class="count wait">
    {count}
    <span class="hidden"> {t.nav.toLookAt()}</span>
  </span>
)

const closeMenu = (): void => document.getElementById('menu')?.hidePopover()

/** Says whose account is shown where it is not the user's own. */
function OtherAccount({ id }: { id: string }) {
  const account = useApi<Account>('/api/account')
  return (
    <div class="offline" role="status">
      {t.nav.actingIn(account.data?.name ?? id)} <Button look="small" text={t.nav.backToOwn} onClick={() => actIn(null)} />
    </div>
  )
}

/** In whose account an operator acts. */
function AccountChoice({ own }: { own: string }) {
  const accounts = useRows<Account>('/api/accounts')
  if (accounts.length < 2) return null
  return (
    <select
      aria-label={t.nav.account}
      value={actingIn.value ?? own}
      onChange={({ currentTarget: { value } }) => actIn(value === own ? null : value)}
    >
      {accounts.map(({ id, name }) => (
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
      <Button look="small plain" text={t.nav.logOut} onClick={() => void logOut()} />
    </div>
  )
}
