/**
 * Characters that show nothing: soft hyphens, joiners, zero-width spaces, marks of direction, Hangul fillers. A row of them behind the preview
 * text keeps the body out of the list of mails.
 */
const invisible = '\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u2060-\\u2064\\u3164\\ufeff\\uffa0'
const anyInvisible = new RegExp(`[${invisible}]`)
const eachInvisible = new RegExp(`[${invisible}]`, 'g')
/** Of invisible characters and blanks, each in one match only, so that any text takes linear time. */
const runs = new RegExp(`[\\s${invisible}]{2,}|[\\u00ad\\u034f\\ufeff]`, 'g')
const markOfDirection = /[\u061c\u200e\u200f]/

/** Text without rows of invisible characters. One that stands alone is kept where it means something, as in Persian words and in emoji. */
export const withoutPadding = (text: string): string =>
  anyInvisible.test(text)
    ? text.replace(runs, (run) => {
        const found = run.match(eachInvisible) ?? []
        if (found.length === 0 || (found.length === 1 && markOfDirection.test(run))) return run
        return found.length === run.length ? '' : ' '
      })
    : text
