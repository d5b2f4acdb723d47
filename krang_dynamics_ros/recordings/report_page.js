'use strict';
const W=1000,H=260,L=64,R=10,T=8,B=34,NS='http://www.w3.org/2000/svg';
function make(tag,at,parent){const e=document.createElementNS(NS,tag);for(const k in at)e.setAttribute(k,at[k]);
  parent.appendChild(e);return e}
function ticks(a,b,n){const raw=(b-a)/n,p=10**Math.floor(Math.log10(raw)),m=raw/p,s=(m<1.5?1:m<3.5?2:m<7.5?5:10)*p,out=[];
  for(let v=Math.ceil(a/s)*s;v<=b+1e-9*s;v+=s)out.push(Math.abs(v)<1e-9*s?0:v);return out}
function range(lines,key){let a=Infinity,b=-Infinity;for(const l of lines)for(const v of l[key]){if(v<a)a=v;if(v>b)b=v}
  if(!(a<b)){a-=1;b+=1}const pad=key==='y'?.05*(b-a):0;return[a-pad,b+pad]}
let serial=0;
document.querySelectorAll('figure.chart').forEach(figure=>{
  const data=JSON.parse(figure.querySelector('script').textContent);
  for(const l of data.lines)for(const key of['x','y']){const c=l[key];l[key]=c.steps.map(k=>c.from+k*c.step)}
  const all={x:range(data.lines,'x'),y:range(data.lines,'y')};
  let view={x:[...all.x],y:[...all.y]};const hidden=new Set([...data.lines.keys()].filter(k=>data.lines[k].hidden)),clip='clip'+serial++;
  const caption=document.createElement('figcaption');caption.textContent=data.title;figure.appendChild(caption);
  const legend=document.createElement('div');legend.className='legend';figure.appendChild(legend);
  data.lines.forEach((l,k)=>{const s=document.createElement('span');s.textContent='\u25a0 '+l.name;s.style.color=l.color;s.classList.toggle('off',hidden.has(k));
    s.onclick=()=>{hidden.has(k)?hidden.delete(k):hidden.add(k);s.classList.toggle('off');draw()};legend.appendChild(s)});
  const save=document.createElement('button');save.textContent='save as SVG';legend.appendChild(save);
  save.onclick=()=>{const copy=svg.cloneNode(true);copy.setAttribute('xmlns',NS);copy.setAttribute('font-size','12');
    copy.setAttribute('font-family','sans-serif');const a=document.createElement('a'),file=new Blob([copy.outerHTML],{type:'image/svg+xml'});
    a.href=URL.createObjectURL(file);a.download=data.title.replace(/[^\w.-]+/g,'_')+'.svg';a.click();URL.revokeObjectURL(a.href)};
  const svg=make('svg',{viewBox:`0 0 ${W} ${H}`,role:'img','aria-label':data.title},figure);
  const px=v=>L+(v-view.x[0])/(view.x[1]-view.x[0])*(W-L-R),py=v=>H-B-(v-view.y[0])/(view.y[1]-view.y[0])*(H-T-B);
  function draw(){svg.replaceChildren();const c=make('clipPath',{id:clip},make('defs',{},svg));
    make('rect',{x:L,y:T,width:W-L-R,height:H-T-B},c);
    for(const v of ticks(...view.x,10)){make('line',{x1:px(v),x2:px(v),y1:T,y2:H-B,stroke:'#8884'},svg);
      make('text',{x:px(v),y:H-B+15,'text-anchor':'middle'},svg).textContent=+v.toPrecision(6)}
    for(const v of ticks(...view.y,5)){make('line',{x1:L,x2:W-R,y1:py(v),y2:py(v),stroke:'#8884'},svg);
      make('text',{x:L-6,y:py(v)+4,'text-anchor':'end'},svg).textContent=+v.toPrecision(6)}
    make('text',{x:(L+W-R)/2,y:H-3,'text-anchor':'middle'},svg).textContent=data.x;
    make('text',{x:12,y:(T+H-B)/2,'text-anchor':'middle',transform:`rotate(-90 12 ${(T+H-B)/2})`},svg).textContent=data.y;
    const g=make('g',{'clip-path':`url(#${clip})`},svg);
    data.lines.forEach((l,k)=>{if(hidden.has(k))return;let d='';
      for(let i=0;i<l.x.length;i++){const x=px(l.x[i]).toFixed(1),y=py(l.y[i]).toFixed(1);
        const broken=!i||(l.gap!==null&&l.x[i]-l.x[i-1]>l.gap);
        d+=l.dots?`M${x} ${y}h.01`:(broken?'M':'L')+x+' '+y}
      make('path',{d,fill:'none',stroke:l.color,'stroke-width':l.dots?2.5:l.width,'stroke-linecap':'round'},g)})}
  const at=e=>{const b=svg.getBoundingClientRect();return[(e.clientX-b.left)/b.width*W,(e.clientY-b.top)/b.height*H]};
  const fx=p=>view.x[0]+(p-L)/(W-L-R)*(view.x[1]-view.x[0]);
  svg.addEventListener('wheel',e=>{e.preventDefault();const f=Math.exp(e.deltaY*.0015),c=fx(at(e)[0]);
    view.x=view.x.map(v=>c+(v-c)*f);if(view.x[1]-view.x[0]>all.x[1]-all.x[0])view.x=[...all.x];draw()},{passive:false});
  let from=null;svg.onpointerdown=e=>{from=fx(at(e)[0]);svg.setPointerCapture(e.pointerId)};
  svg.onpointermove=e=>{if(from!==null){const d=from-fx(at(e)[0]);view.x=view.x.map(v=>v+d);draw()}};
  svg.onpointerup=()=>{from=null};svg.ondblclick=()=>{view={x:[...all.x],y:[...all.y]};draw()};draw()});
