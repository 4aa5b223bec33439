import type { IconName } from './parts/icon.tsx'
import { isOperator, mayChange } from './rights.ts'
import { t } from './texts/texts.ts'

/** A page that the sidebar leads to. */
export interface Section {
  href: string
  icon: IconName
  text: string
  /** Pressed after `g`, it opens the page. */
  letter: string | null
}

export interface SectionGroup {
  heading: string | null
  sections: Section[]
}

const section = (href: string, icon: IconName, text: string, letter: string | null = null): Section => ({ href, icon, text, letter })

/** The pages that the user may open, in the order of the sidebar. */
export const sectionGroups = (): SectionGroup[] => groups().filter(({ sections }) => sections.length > 0)

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
      ...(mayChange() ? [section('/keys', 'key', t.nav.keys, 'k')] : []),
      section('/webhooks', 'hook', t.nav.webhooks, 'w'),
      section('/sandbox', 'box', t.nav.sandbox, 'b'),
    ],
  },
  {
    heading: t.nav.server,
    sections: [
      ...(isOperator() ? [section('/queue', 'queue', t.nav.queue, 'q'), section('/health', 'heart', t.nav.health, 'h')] : []),
      ...(mayChange() ? [section('/people', 'people', t.nav.people, 'p')] : []),
      ...(isOperator() ? [section('/settings', 'gear', t.nav.settings)] : []),
    ],
  },
]
