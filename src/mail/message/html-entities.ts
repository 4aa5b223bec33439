import { decodeHTML, decodeHTMLAttribute } from 'entities'

/** Spaces of a fixed width: in plain text they are like any other. */
const fixedSpace = /[\u00a0\u2002-\u200a]/g

/** Text with its character references decoded as a browser decodes them (HTML 13.2.5.72). */
export const decodeEntities = (text: string): string => (text.includes('&') ? decodeHTML(text).replace(fixedSpace, ' ') : text)

/** The value of an attribute, likewise; a link to `?a=1&copy=1` keeps its parameter. */
export const decodeAttribute = (value: string): string => (value.includes('&') ? decodeHTMLAttribute(value) : value)
