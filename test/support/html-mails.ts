/** A small generator of numbers, so that a mail that fails can be made again by its seed. */
export function seededRandom(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state = (state ^ (state << 5)) >>> 0
    return state % below
  }
}

const targets = [
  'https://shop.example/orders/4711',
  'http://shop.example/?utm_source=mail&amp;utm_campaign=spring&amp;id=9',
  'https://shop.example/?a=1&b=2&copy=3&lt;x&notit;=1',
  'https://shop.example/search?q=%C3%A4%20b&#38;page=2&#x26;x=&quot;y&quot;',
  '\n   https://shop.example/with\n\tline/ends  ',
  'HTTPS://SHOP.EXAMPLE/Case/Stays',
  'https://user:pw@shop.example:8443/p;v=1/?x#frag',
  'http:\\\\shop.example\\back\\slashes',
  'https://shop.example/Grüße?ö=ü',
  'https://[2001:db8::1]/v6',
  'http://xn--bcher-kva.example/',
]
const others = [
  'mailto:help@shop.example?subject=Order',
  'tel:+49301234',
  'sms:+1555',
  '#top',
  '/relative',
  'page.html',
  '//host.example/x',
  '{{url}}',
  'javascript:void(0)',
  'data:text/html,hi',
  'cid:logo',
  'https://',
  'http:// /',
  'shop:open?id=1',
  '',
  ' ',
  'ftp://files.example/x',
  'httpsx://no.example/',
]
const texts = [
  'Thank you for your order.',
  '{{name}}, it is on its way!',
  'Größe &auml;&ouml; 10 &lt; 20 && "so" \'said\' <3',
  'a &amp; b',
  '🛒 Überraschung',
  '<notatag',
  'x<y>z',
]

type Random = ReturnType<typeof seededRandom>
const one = <T>(random: Random, from: readonly T[]): T => from[random(from.length)] as T

function attribute(random: Random, name: string, value: string): string {
  const spelled = one(random, [name, name.toUpperCase(), name[0]!.toUpperCase() + name.slice(1)])
  const equals = one(random, ['=', '=', '=', ' = ', '=\n  '])
  const isBare = value !== '' && !/[\s"'<>`=]/.test(value)
  const quote = isBare && random(4) === 0 ? '' : value.includes('"') || random(3) === 0 ? "'" : '"'
  return `${spelled}${equals}${quote}${value}${quote}`
}

function anchor(random: Random): string {
  const target = random(3) === 0 ? one(random, others) : one(random, targets)
  const attributes = [attribute(random, 'href', target)]
  if (random(2) === 0)
    attributes.unshift(
      one(random, [
        'class="btn"',
        'style="color:#fff;background:url(https://img.example/a>b.png)"',
        'target=_blank',
        'title="a > b"',
        'data-x',
        'download=""',
      ]),
    )
  if (random(6) === 0)
    attributes.push(
      one(random, [
        'href="https://second.example/"',
        'data-sterna-track="off"',
        'clicktracking=off',
        'ses:no-track',
        'DATA-STERNA-TRACK=" Off "',
        'data-sterna-track="on"',
      ]),
    )
  const gap = one(random, [' ', ' ', '\n', '\t ', '/'])
  const close = one(random, ['</a>', '</a>', '</A >', '', '</a\n>'])
  return `<${one(random, ['a', 'a', 'A'])}${gap}${attributes.join(' ')}${one(random, ['', ' ', ' /'])}>${one(random, texts)}${close}`
}

const outlook = (random: Random): string =>
  one(random, [
    '<!--[if mso]><table><tr><td><![endif]-->',
    '<!--[if (gte mso 9)|(IE)]><table width="600"><tr><td><![endif]-->',
    `<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://mso.example/button?x=1&amp;y=2" style="height:40px"><center>Go</center></v:roundrect><![endif]-->`,
    `<!--[if mso | IE]><a href='https://mso.example/plain'>Go</a><![endif]-->`,
    '<!--[if !mso]><!-->',
    '<!--<![endif]-->',
    '<![if !mso]>',
    '<![endif]>',
    '<!--[if IE 6]><a href="https://ie.example/">old</a><![endif]-->',
  ])

const hidden = (random: Random): string =>
  one(random, [
    '<!-- <a href="https://comment.example/">no</a> -->',
    '<style>a[href="https://style.example/"]{color:red} /* <a href="https://style.example/"> */</style>',
    '<script type="application/ld+json">{"url": "<a href=\'https://script.example/\'>"}</script>',
    '<textarea><a href="https://textarea.example/">no</a></textarea>',
    '<xmp><a href="https://xmp.example/">no</a></xmp>',
    '<iframe><a href="https://iframe.example/">no</a></iframe>',
    '<link rel="stylesheet" href="https://link.example/x.css">',
    '<form action="https://form.example/"><input name=x></form>',
    '<img src="https://img.example/logo.png" alt="<a href=https://alt.example/>">',
    '<!-->',
    '<!--->',
    '<!-- a --!>',
    '<!-- a -- b -->',
    '<!DOCTYPE >',
    '<?xml version="1.0"?>',
    '</>',
    '</ p>',
    '<!>',
    '<! x >',
    '<map name=m><area shape=rect coords="0,0,1,1" href="https://area.example/"></map>',
    '<noscript><a href="https://noscript.example/">yes</a></noscript>',
    '<o:p>&nbsp;</o:p>',
    '<![CDATA[ a > b ]]>',
    '<![CDATA[ <a href="https://cdata.example/">no</a> <a href="https://shop.example/yes">yes</a> ]]>',
    '<p title="<![CDATA[">x</p>',
    '<script><!--<script>"</script>"<a href="https://twice.example/">no</a>--></script>',
    '<script><!-- <SCRIPT > </script\n> <a href="https://twice.example/">no</a> <script> </script> --> </script/>',
    '<script><!--><script></script>',
    '<script><!--<scripts></script>',
    '<script>"<!--" <script-->"-->"</script>',
    '<svg><![CDATA[ <a href="https://drawn.example/">no</a> ]]></svg>',
    '<svg viewBox="0 0 1 1"><a href="https://shop.example/drawn"><path d=""/><text>a &gt; b<![CDATA[ > ]]></text></a></svg>',
    '<svg><title><a href="https://shop.example/title">yes</a></title><style><a href="https://shop.example/style">yes</a></style></svg>',
    '<svg><script>"<!--<script>"</script></svg>',
    '<svg><foreignObject><p><![CDATA[ <a href="https://shop.example/html">yes</a> ]]></p><![CDATA[>]]></foreignObject></svg>',
    '<svg/><![CDATA[ <a href="https://cdata.example/">no</a> ]]>',
    '<svg><g><p><![CDATA[ <a href="https://cdata.example/">no</a> ]]></p>',
    '<math><mi><b><![CDATA[ > ]]></b></mi><![CDATA[ <a href="https://sum.example/">no</a> ]]></math>',
    '<p title="unfinished>',
    '">',
    '<td a=b"c>',
    '<a',
    '<a href',
    '<div =x>',
    '<p/class=x/>',
  ])

const row = (random: Random): string => `<tr><td style="padding:8px"><p>${one(random, texts)} ${anchor(random)}</p></td></tr>\n`

/** A newsletter or receipt as the tools of the trade write it, with what goes wrong in practice; the same for the same seed. */
export function htmlMail(seed: number, rows = 3 + (seed % 30)): string {
  const random = seededRandom(seed)
  const head =
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n<html><head><meta charset="utf-8"><title>Your order <a href="https://title.example/"></title></head>\n'
  let html = random(5) === 0 ? '' : head + '<body bgcolor=#ffffff>\n'
  html += '<table role="presentation"><tbody>\n'
  for (let i = 0; i < rows; i++) {
    const kind = random(10)
    html += kind < 6 ? row(random) : kind < 7 ? outlook(random) : kind < 8 ? hidden(random) : anchor(random)
  }
  return (
    html +
    one(random, [
      '</table></body></html>\n',
      '</table></body></html>',
      '',
      '</TABLE></BODY>',
      '</body><p>behind</p></body>',
      '<!-- end',
      '<a href="https://open.example/',
    ])
  )
}
