import type { Wording } from '../../platform/wording.ts'

const oneClick = 'Gmail and Yahoo require one click (RFC 8058). Send it with a topic that readers can unsubscribe from, or add both fields.'

/** What the checks of an email's content find. */
export const contentWordings = {
  plain_text: { what: 'It is plain text.' },
  has_text_part: { what: 'It has a text part beside the HTML.' },
  no_text_part: {
    what: 'It has no text part.',
    advice: 'Send the same as text, too: some readers see nothing else, and filters trust such mail more.',
  },
  no_pictures: { what: 'It has no pictures.' },
  pictures_have_text: { what: 'All pictures have an alternative text.' },
  pictures_without_text: {
    what: '{count} of {all} pictures have no alternative text.',
    advice: 'Give each an `alt`, an empty one if it only decorates: many readers do not load pictures.',
  },
  size_fine: { what: 'The HTML has {size} KB.' },
  size_clipped: {
    what: 'The HTML has {size} KB, and Gmail cuts off what is beyond 102 KB.',
    advice: 'Shorten it: remove unused styles, and link to what is long.',
  },
  unsubscribe_added: { what: 'Readers can unsubscribe with one click: Sterna adds the fields.' },
  unsubscribe_fine: { what: 'Readers can unsubscribe with one click.' },
  unsubscribe_not_needed: { what: 'It has no List-Unsubscribe. That is right for mail that somebody waits for, such as a receipt.' },
  unsubscribe_missing: { what: 'It goes to a list, but has no List-Unsubscribe.', advice: oneClick },
  unsubscribe_not_one_click: { what: 'It has List-Unsubscribe, but not List-Unsubscribe-Post.', advice: oneClick },
  no_placeholders: { what: 'No placeholders are left over.' },
  placeholders_left: { what: 'Placeholders are left over: {placeholders}', advice: 'Give their values when you send.' },
  no_html: { what: 'It has no HTML.' },
  supported: { what: 'Common mail programs show all of its HTML and CSS.' },
  unsupported: {
    what: 'Some mail programs leave out what is in this mail: {features}.',
    advice: 'See to it that the mail works without.',
  },
  no_links: { what: 'It has no links.' },
  link_fine: { what: 'Its link leads to an address.' },
  links_fine: { what: 'All {count} links lead to an address.' },
  links_dead: { what: '{count} of {all} links lead nowhere: {links}', advice: 'Give each a whole address, such as https://example.com/.' },
  link_answers_wrongly: { what: '{link}: It answers {status}.', advice: 'See whether it is mistyped or gone.' },
  link_unreachable: { what: '{link}: {fault}', advice: 'See whether it is mistyped or gone.' },
  link_answered: { what: 'The link answered.' },
  links_answered: { what: 'All {count} links answered.' },
} as const satisfies Record<string, Wording>
