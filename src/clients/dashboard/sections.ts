import type { IconName } from './parts/icon.tsx'
import { isOperator, mayChange } from './rights.ts'
import type { Route } from './router.tsx'
import { loadLater } from './say.ts'
import { t } from './texts/texts.ts'

/** A page, with what it shows of what the API says. */
const withTexts = <Page>(page: Promise<Page>): Promise<Page> => Promise.all([page, loadLater()]).then(([loaded]) => loaded)

/** The pages by their paths; each is loaded when it is first opened. */
export const routes: Route[] = [
  { pattern: '/', load: () => import('./pages/overview.tsx') },
  { pattern: '/welcome', only: 'admins', load: () => withTexts(import('./pages/welcome.tsx')) },
  { pattern: '/emails', load: () => import('./pages/emails.tsx') },
  { pattern: '/emails/:id', load: () => import('./pages/email.tsx') },
  { pattern: '/analytics', load: () => import('./pages/analytics.tsx') },
  { pattern: '/domains', load: () => import('./pages/domains.tsx') },
  { pattern: '/domains/:name', load: () => withTexts(import('./pages/domain.tsx')) },
  { pattern: '/templates', load: () => import('./pages/templates.tsx') },
  { pattern: '/templates/:alias', load: () => import('./pages/template.tsx') },
  { pattern: '/suppressions', load: () => import('./pages/suppressions.tsx') },
  { pattern: '/reports', load: () => import('./pages/reports.tsx') },
  { pattern: '/reports/:domain', load: () => withTexts(import('./pages/domain-reports.tsx')) },
  { pattern: '/webhooks', load: () => import('./pages/webhooks.tsx') },
  { pattern: '/webhooks/:id', load: () => import('./pages/webhook.tsx') },
  { pattern: '/webhooks/:id/deliveries/:delivery', load: () => import('./pages/webhook-delivery.tsx') },
  { pattern: '/sandbox(?:/:id)?', stays: true, load: () => import('./pages/sandbox.tsx') },
  { pattern: '/queue', only: 'operators', load: () => import('./pages/queue.tsx') },
  { pattern: '/queue/:domain', only: 'operators', load: () => import('./pages/queue-destination.tsx') },
  { pattern: '/health', only: 'operators', load: () => withTexts(import('./pages/health.tsx')) },
  { pattern: '/settings', only: 'operators', load: () => import('./pages/settings.tsx') },
  { pattern: '/people', only: 'admins', load: () => import('./pages/people.tsx') },
  { pattern: '/accounts/:id', only: 'operators', load: () => import('./pages/account.tsx') },
  { pattern: '/me', load: () => import('./pages/me.tsx') },
  { pattern: '/keys', only: 'admins', load: () => import('./pages/keys.tsx') },
]

export const mayOpen = ({ only }: Route): boolean => only === undefined || (only === 'operators' ? isOperator() : mayChange())

/** A page that the sidebar leads to. */
export interface Section {
  href: string
  icon: IconName
  text: string
  /** Pressed after `g`, it opens the page. */
  letter: string | null
}

interface SectionGroup {
  heading: string | null
  sections: Section[]
}

const section = (href: string, icon: IconName, text: string, letter: string | null = null): Section => ({ href, icon, text, letter })

/** The pages that the user may open, in the order of the sidebar. */
export const sectionGroups = (): SectionGroup[] =>
  groups()
    .map(({ heading, sections }) => ({ heading, sections: sections.filter(({ href }) => isOpen(href)) }))
    .filter(({ sections }) => sections.length > 0)

const isOpen = (href: string): boolean => routes.every((route) => route.pattern !== href || mayOpen(route))

const groups = (): SectionGroup[] => [
  {
    heading: null,
    sections: [
      section('/', 'home', t.nav.overview, 'o'),
      section('/emails', 'mail', t.nav.emails, 'e'),
      section('/analytics', 'chart', t.nav.analytics, 'a'),
    ],
  },
  {
    heading: t.nav.sending,
    sections: [
      section('/domains', 'globe', t.nav.domains, 'd'),
      section('/templates', 'tpl', t.nav.templates, 't'),
      section('/suppressions', 'ban', t.nav.suppressions, 's'),
      section('/reports', 'doc', t.nav.reports, 'r'),
    ],
  },
  {
    heading: t.nav.build,
    sections: [
      section('/keys', 'key', t.nav.keys, 'k'),
      section('/webhooks', 'hook', t.nav.webhooks, 'w'),
      section('/sandbox', 'box', t.nav.sandbox, 'b'),
    ],
  },
  {
    heading: t.nav.server,
    sections: [
      section('/queue', 'queue', t.nav.queue, 'q'),
      section('/health', 'heart', t.nav.health, 'h'),
      section('/people', 'people', t.nav.people, 'p'),
      section('/settings', 'gear', t.nav.settings),
    ],
  },
]
