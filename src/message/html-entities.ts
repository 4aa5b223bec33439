/** The named references that mail uses; a name that is not here stays as it is written. */
const named: Record<string, string> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', shy: '', ensp: ' ', emsp: ' ', thinsp: ' ', zwnj: '',
  zwj: '\u200d', copy: '©', reg: '®', trade: '™', hellip: '…', mdash: '—', ndash: '–', minus: '−', bull: '•', middot: '·',
  sect: '§', para: '¶', lsquo: '‘', rsquo: '’', sbquo: '‚', ldquo: '“', rdquo: '”', bdquo: '„', laquo: '«', raquo: '»',
  lsaquo: '‹', rsaquo: '›', euro: '€', pound: '£', yen: '¥', cent: '¢', deg: '°', plusmn: '±', times: '×', divide: '÷',
  frac12: '½', frac14: '¼', frac34: '¾', sup1: '¹', sup2: '²', sup3: '³', micro: 'µ', ordf: 'ª', ordm: 'º', iexcl: '¡',
  iquest: '¿', larr: '←', uarr: '↑', rarr: '→', darr: '↓', harr: '↔', check: '✓', hearts: '♥', star: '☆', starf: '★',
  dagger: '†', Dagger: '‡', permil: '‰', infin: '∞', ne: '≠', le: '≤', ge: '≥', agrave: 'à', aacute: 'á', acirc: 'â',
  atilde: 'ã', auml: 'ä', aring: 'å', aelig: 'æ', ccedil: 'ç', egrave: 'è', eacute: 'é', ecirc: 'ê', euml: 'ë', igrave: 'ì',
  iacute: 'í', icirc: 'î', iuml: 'ï', eth: 'ð', ntilde: 'ñ', ograve: 'ò', oacute: 'ó', ocirc: 'ô', otilde: 'õ', ouml: 'ö',
  oslash: 'ø', ugrave: 'ù', uacute: 'ú', ucirc: 'û', uuml: 'ü', yacute: 'ý', thorn: 'þ', yuml: 'ÿ', szlig: 'ß', oelig: 'œ',
  scaron: 'š', Agrave: 'À', Aacute: 'Á', Acirc: 'Â', Atilde: 'Ã', Auml: 'Ä', Aring: 'Å', AElig: 'Æ', Ccedil: 'Ç', Egrave: 'È',
  Eacute: 'É', Ecirc: 'Ê', Euml: 'Ë', Igrave: 'Ì', Iacute: 'Í', Icirc: 'Î', Iuml: 'Ï', ETH: 'Ð', Ntilde: 'Ñ', Ograve: 'Ò',
  Oacute: 'Ó', Ocirc: 'Ô', Otilde: 'Õ', Ouml: 'Ö', Oslash: 'Ø', Ugrave: 'Ù', Uacute: 'Ú', Ucirc: 'Û', Uuml: 'Ü', Yacute: 'Ý',
  THORN: 'Þ', OElig: 'Œ', Scaron: 'Š',
}

function codePoint(digits: string, base: 10 | 16): string {
  const value = Number.parseInt(digits, base)
  const isCharacter = value > 0 && value <= 0x10ffff && !(value >= 0xd800 && value <= 0xdfff)
  return isCharacter ? String.fromCodePoint(value) : '\ufffd'
}

const reference = /&(?:#x([0-9a-f]{1,8})|#([0-9]{1,9})|([a-z][a-z0-9]{1,7}));?/gi

/** Text with its character references decoded (HTML 13.2.5.72): numeric ones, and the names that mail uses. */
export const decodeEntities = (text: string): string => (text.includes('&') ? text.replace(reference, decoded) : text)

function decoded(written: string, hex?: string, decimal?: string, name?: string): string {
  if (hex !== undefined) return codePoint(hex, 16)
  if (decimal !== undefined) return codePoint(decimal, 10)
  // Without the semicolon `&copy=1` in a link would lose its parameter.
  if (name === undefined || !written.endsWith(';')) return written
  return Object.hasOwn(named, name) ? (named[name] ?? written) : written
}
